"""What all agents check alike: findings, the lists of checks and what runs them, and the checks of
what every sidecar has around it."""
