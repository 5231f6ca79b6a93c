"""The health of an agent: ok, degraded or failing, with one condition for each cause."""
