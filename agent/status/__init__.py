"""The status of the agent: facts about its parts, the resulting conditions, and their report."""
