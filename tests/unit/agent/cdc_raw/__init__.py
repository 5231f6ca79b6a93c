"""Tests of how the agent observes `cdc_raw`."""
