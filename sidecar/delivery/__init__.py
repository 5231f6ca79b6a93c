"""From a batch of events to the acknowledgement of its last event."""
