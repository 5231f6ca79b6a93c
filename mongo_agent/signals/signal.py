"""A signal as every channel gives it, and the answer to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mongo_agent.documents.extended_json import check_depth, parse_extended_json


class InvalidSignalError(ValueError):
    """A signal cannot be understood; the message is one sentence for whoever sent it."""


@dataclass(frozen=True, slots=True)
class Signal:
    """`id` is the sender's own and only told in answers; `type` and `data` are Debezium's.

    `occurrence` names this very signal among all of a channel that may give it a second time;
    `kafka_offset` is its place in a topic.
    """

    id: str
    type: str
    data: Mapping[str, Any]
    channel: str
    occurrence: str | None = None
    kafka_offset: int | None = None


@dataclass(frozen=True, slots=True)
class SignalResult:
    """What became of a signal, in one sentence."""

    is_accepted: bool
    sentence: str


def parse_signal(
    document: Mapping[str, Any],
    channel: str,
    *,
    occurrence: str | None = None,
    kafka_offset: int | None = None,
) -> Signal:
    """A signal of an object with `id` or `_id`, `type` and `data`, which may be a text of JSON.
    What is not so is left to be refused with its name."""
    identity = document.get("id", document.get("_id", ""))
    kind = document.get("type")
    return Signal(
        str(identity),
        kind if isinstance(kind, str) else str(kind),
        _data(document.get("data")),
        channel,
        occurrence,
        kafka_offset,
    )


def _data(data: Any) -> Mapping[str, Any]:
    if isinstance(data, str):
        try:
            data = parse_extended_json(data) if data.strip() else {}
        except ValueError:
            return {"data": data}
    if data is None:
        return {}
    try:
        check_depth(data)
    except ValueError as error:
        return {"data": str(error)}
    return data if isinstance(data, Mapping) else {"data": data}
