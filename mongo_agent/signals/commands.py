"""Signal commands: Debezium's types and the fields of their data.

    execute-snapshot   {"type": "incremental", "data-collections": […], "additional-conditions":
                       [{"data-collection": …, "filter": …}], "replace": true}
    stop-snapshot      {"type": "incremental", "data-collections": […]}
    pause-snapshot     {"type": "incremental"}
    resume-snapshot    {"type": "incremental"}
    log                {"message": …}

Snapshots always run alongside the stream, so `blocking` means the same as `incremental`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from bson import json_util

from mongo_agent.signals.signal import InvalidSignalError, Signal

_KINDS = ("incremental", "blocking")
_TYPE, _COLLECTIONS, _CONDITIONS = "type", "data-collections", "additional-conditions"
_COLLECTION, _FILTER = "data-collection", "filter"
_REPLACE = "replace"
_MESSAGE = "message"


@dataclass(frozen=True, slots=True)
class ExecuteSnapshot:
    """Snapshot the matching collections. `filters` are pairs of a name and a query.

    `replaces`: also delete the documents that exist only in their topics.
    """

    names: tuple[str, ...]
    filters: tuple[tuple[str, str], ...]
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class StopSnapshot:
    """Stop the snapshots of matching collections, or all snapshots if `names` is empty."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PauseSnapshot:
    is_paused: bool


@dataclass(frozen=True, slots=True)
class LogMessage:
    message: str


Command = ExecuteSnapshot | StopSnapshot | PauseSnapshot | LogMessage


def parse_command(signal: Signal) -> Command:
    """Parse the command of a signal. Raises `InvalidSignalError`."""
    data = signal.data
    match signal.type:
        case "execute-snapshot":
            _check_kind(data)
            _check_names(data, (_TYPE, _COLLECTIONS, _CONDITIONS, _REPLACE))
            if _COLLECTIONS not in data:
                raise InvalidSignalError(
                    f"`{_COLLECTIONS}` must list the collections to snapshot: names or regular "
                    "expressions over `database.collection`."
                )
            filters, replaces = _conditions(data), data.get(_REPLACE, False)
            if not isinstance(replaces, bool) or (replaces and filters):
                raise InvalidSignalError(
                    f"`{_REPLACE}` must be true or false, and true only without `{_CONDITIONS}`."
                )
            return ExecuteSnapshot(_collections(data), filters, replaces)
        case "stop-snapshot":
            _check_kind(data, is_needed=True)
            _check_names(data, (_TYPE, _COLLECTIONS))
            return StopSnapshot(_collections(data))
        case "pause-snapshot" | "resume-snapshot":
            _check_kind(data)
            _check_names(data, (_TYPE,))
            return PauseSnapshot(signal.type == "pause-snapshot")
        case "log":
            message = data.get(_MESSAGE)
            if not isinstance(message, str):
                raise InvalidSignalError(f"`{_MESSAGE}` must be a string.")
            return LogMessage(message)
    raise InvalidSignalError(
        f"The type {signal.type!r} is unknown; it must be `execute-snapshot`, `stop-snapshot`, "
        "`pause-snapshot`, `resume-snapshot` or `log`."
    )


def _check_kind(data: Mapping[str, Any], *, is_needed: bool = False) -> None:
    kind = data.get(_TYPE) if is_needed else data.get(_TYPE, _KINDS[0])
    if not isinstance(kind, str) or kind.lower() not in _KINDS:
        raise InvalidSignalError(
            f"`data.{_TYPE}` is {kind!r}; it must be `incremental` or `blocking`, which the agent "
            "treats alike."
        )


def _check_names(data: Mapping[str, Any], known: Collection[str]) -> None:
    """Reject unknown fields: a mistyped condition would otherwise snapshot too many documents."""
    unknown = sorted(data.keys() - set(known))
    if unknown:
        raise InvalidSignalError(
            f"`data` has unknown fields `{'`, `'.join(unknown)}`. Use `{'`, `'.join(known)}`."
        )


def _collections(data: Mapping[str, Any]) -> tuple[str, ...]:
    names = data.get(_COLLECTIONS, [])
    if not isinstance(names, list) or not all(isinstance(each, str) and each for each in names):
        raise InvalidSignalError(f"`{_COLLECTIONS}` must be a list of names.")
    return tuple(names)


def _conditions(data: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    conditions = data.get(_CONDITIONS, [])
    if not isinstance(conditions, list):
        raise InvalidSignalError(f"`{_CONDITIONS}` must be a list.")
    return tuple(_condition(each) for each in conditions)


def _condition(condition: Any) -> tuple[str, str]:
    if not isinstance(condition, Mapping) or condition.keys() != {_COLLECTION, _FILTER}:
        raise InvalidSignalError(
            f"Each of `{_CONDITIONS}` must be an object with `{_COLLECTION}` and `{_FILTER}`."
        )
    name, query = condition[_COLLECTION], condition[_FILTER]
    if not isinstance(name, str):
        raise InvalidSignalError(f"`{_COLLECTION}` of a condition must be a name.")
    return name, query if isinstance(query, str) else json_util.dumps(query)
