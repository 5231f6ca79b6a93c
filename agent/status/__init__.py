"""The status of the agent: facts of its parts, the conditions that follow, and their report."""
