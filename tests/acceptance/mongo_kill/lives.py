"""The processes of the agent one after the other, and what each of them repeated."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.acceptance.mongo_kill.checks import Arrival, repeats


@dataclass(slots=True)
class Life:
    """A process of the agent. `begins` has the end of each topic and partition before its start."""

    begins: Mapping[tuple[str, int], int]
    broker_kills: int = 0


def repeats_of_lives(
    arrived: Sequence[Arrival], lives: Sequence[Life], copies: int = 1
) -> list[int]:
    """For each process the records of events that had come before, as `repeats` counts them."""
    in_order = sorted(arrived, key=lambda each: (_number(each, lives), each.offset))
    counts = Counter(_number(arrival, lives) for arrival in repeats(in_order, copies))
    return [counts[number] for number in range(len(lives))]


def unbounded(repeated: Sequence[int], lives: Sequence[Life], window_events: int) -> Iterator[str]:
    """A process repeats a window at its start at most, and one after each kill of the broker."""
    for number, (count, life) in enumerate(zip(repeated, lives, strict=True)):
        most = window_events * (1 + life.broker_kills)
        if count > most:
            yield f"process {number} of the agent repeated {count} events, of {most} at most"


def _number(arrival: Arrival, lives: Sequence[Life]) -> int:
    """That of the process that sent a record."""
    begun = [life.begins[arrival.topic, arrival.partition] <= arrival.offset for life in lives]
    return max(begun.count(True) - 1, 0)
