"""What the command lines of all agents share."""
