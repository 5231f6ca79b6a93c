"""From a batch of events to the acknowledgement of its last event."""

from sidecar.delivery.window import Progress, Room, Window

__all__ = ["Progress", "Room", "Window"]
