"""What all agents check alike: findings, the broker."""
