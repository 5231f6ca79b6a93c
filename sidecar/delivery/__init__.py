"""Delivers batches of events, up to the acknowledgement of the last event."""
