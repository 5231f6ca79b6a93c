"""The loop of the MongoDB agent."""
