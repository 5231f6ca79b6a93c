"""The demo of the MongoDB agent."""
