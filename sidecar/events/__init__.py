"""Events on their way from the reader to the sink."""

from sidecar.events.batch import (
    EventBatch,
    Message,
    Numbered,
    Position,
    ProduceArguments,
    Source,
)

__all__ = [
    "EventBatch",
    "Message",
    "Numbered",
    "Position",
    "ProduceArguments",
    "Source",
]
