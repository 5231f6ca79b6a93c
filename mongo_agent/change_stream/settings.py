"""Settings of change streams."""

from dataclasses import dataclass

from mongo_agent.change_stream.large_events import LargeEvents


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Options of `$changeStream` and of its cursor.

    `full_document` and `full_document_before` hold the server's values. `batch_size` counts events;
    0 leaves it to the server. `await_ms` limits how long the server waits for an event. Without
    `has_start_after` streams resume by `resumeAfter`. `large_events` is what the server can do with
    events above 16 MB.
    """

    full_document: str = "updateLookup"
    full_document_before: str = "off"
    shows_expanded_events: bool = False
    batch_size: int = 0
    await_ms: int = 1000
    has_start_after: bool = True
    large_events: LargeEvents = "split"
