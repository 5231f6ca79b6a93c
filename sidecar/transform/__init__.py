"""Applies a user's function to every event before the sink: `event.transform=module:function`.

    def transform(event: Event) -> Event:
        return event._replace(topic=f"{event.topic}.eu") if b'"eu"' in event.key else event

It may route an event to a different topic, mask parts of key and value, and add headers. It must
return one event for each event, and the same event for a repeated call, because the agent sends
events again after a failure. The pipeline's thread calls it. If it fails, the agent stops instead
of sending the original event.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple

from sidecar.errors import ConfigError, SidecarError
from sidecar.events import DeliveryBatch, Message, PositionOf
from sidecar.events.message_batch import MessageBatch
from sidecar.properties.named_object import load_named

PROPERTY = "event.transform"


class Event(NamedTuple):
    """An event as the sink receives it."""

    topic: str
    key: bytes
    value: bytes | None
    """None: a tombstone."""
    headers: list[tuple[str, bytes]]


Transform = Callable[[Event], Event]


class TransformError(SidecarError):
    """The function failed, or returned something other than an event."""


def transform_named(name: str) -> Transform:
    """Load the function `module:function`. Raises ConfigError."""
    transform: Transform = load_named(PROPERTY, name, "function", callable)
    try:
        inspect.signature(transform).bind(Event("", b"", None, []))
    except TypeError as error:
        raise ConfigError(
            f"`{PROPERTY}={name}`: {name.partition(':')[2]} cannot be called with an event "
            f"({error}); give it one parameter."
        ) from error
    except ValueError:
        # Functions of extension modules may hide their parameters.
        pass
    return transform


def header_added(name: str, value: bytes) -> Transform:
    header = (name, value)

    def add(event: Event) -> Event:
        return Event(event.topic, event.key, event.value, [*event.headers, header])

    return add


class TransformedBatch(MessageBatch, Generic[PositionOf]):
    """A batch that applies a function to its events on each access."""

    def __init__(self, batch: DeliveryBatch[PositionOf], transform: Transform) -> None:
        self._batch = batch
        self._transform = transform

    def __len__(self) -> int:
        return len(self._batch)

    @property
    def size_bytes(self) -> int:
        """Size of the original batch."""
        return self._batch.size_bytes

    def position_after(self, events: int, /) -> PositionOf:
        return self._batch.position_after(events)

    def messages(self, first: int, stop: int, /) -> Sequence[Message]:
        found = self._batch.messages(first, stop)
        return [
            (*self._changed(Event(topic, key, value, headers)), partition_hash)
            for topic, key, value, headers, partition_hash in found
        ]

    def _changed(self, event: Event) -> Event:
        try:
            changed = self._transform(event)
        # `sys.exit()` in it would stop the agent with exit code 0, without delivering the event.
        except (Exception, SystemExit) as error:
            raise TransformError(
                f"`{PROPERTY}` failed for an event of {event.topic}: {type(error).__name__}: "
                f"{error}. The event is not sent. Correct the function and restart the agent."
            ) from error
        if not _is_event(changed):
            raise TransformError(
                f"`{PROPERTY}` returned {type(changed).__name__} for an event of {event.topic}. "
                "It must return one Event for each event."
            )
        return changed


def _is_event(found: object) -> bool:
    return (
        isinstance(found, Event)
        and isinstance(found.topic, str)
        and isinstance(found.key, bytes)
        and (found.value is None or isinstance(found.value, bytes))
        and isinstance(found.headers, list)
    )
