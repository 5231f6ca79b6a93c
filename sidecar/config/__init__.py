"""The properties that both agents share."""
