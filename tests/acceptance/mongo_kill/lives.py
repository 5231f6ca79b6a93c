"""The processes of the agent one after the other, and what each of them repeated."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.acceptance.mongo_kill.checks import Arrival


@dataclass(slots=True)
class Life:
    """A process of the agent. `begins` has the end of each topic and partition before its start."""

    begins: Mapping[tuple[str, int], int]
    broker_kills: int = 0


def repeats_of_lives(arrived: Sequence[Arrival], lives: Sequence[Life]) -> list[int]:
    """For each process the records of events that had come before."""
    counts = [0] * len(lives)
    seen: set[bytes] = set()
    for number, arrival in sorted(_numbered(arrived, lives), key=lambda each: each[0]):
        counts[number] += arrival.event_id in seen
        seen.add(arrival.event_id)
    return counts


def unbounded(repeated: Sequence[int], lives: Sequence[Life], window_events: int) -> Iterator[str]:
    """A process repeats a window at its start at most, and one after each kill of the broker."""
    for number, (count, life) in enumerate(zip(repeated, lives, strict=True)):
        most = window_events * (1 + life.broker_kills)
        if count > most:
            yield f"process {number} of the agent repeated {count} events, of {most} at most"


def _numbered(arrived: Sequence[Arrival], lives: Sequence[Life]) -> Iterator[tuple[int, Arrival]]:
    """Each record with the number of the process that sent it."""
    for arrival in arrived:
        begun = [life.begins[arrival.topic, arrival.partition] <= arrival.offset for life in lives]
        yield max(begun.count(True) - 1, 0), arrival
