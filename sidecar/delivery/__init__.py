"""From a batch of events to the acknowledgement of its last event."""

from sidecar.delivery.window import (
    EventBatch,
    Message,
    Numbered,
    Position,
    ProduceArguments,
    Progress,
    Room,
    Source,
    Window,
)

__all__ = [
    "EventBatch",
    "Message",
    "Numbered",
    "Position",
    "ProduceArguments",
    "Progress",
    "Room",
    "Source",
    "Window",
]
