"""Application of signals to the snapshot progress, without queries to the server.

    execute-snapshot   {"type": "incremental", "data-collections": […], "additional-conditions":
                       [{"data-collection": …, "filter": …}], "replace": true}
    stop-snapshot      {"type": "incremental", "data-collections": […]}
    pause-snapshot     {"type": "incremental"}
    resume-snapshot    {"type": "incremental"}
    log                {"message": …}

These are Debezium's types and the fields of their data. Snapshots always run alongside the stream,
so `blocking` means the same as `incremental`.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from bson import json_util

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import parse_filter
from mongo_agent.signals.signal import InvalidSignalError, Signal, SignalResult
from mongo_agent.snapshot.collections import name_expression
from mongo_agent.snapshot.ddl_events import ReplacementRules, ordered, unreported
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import ReplacedCollection, SnapshotReason, SnapshotRequest
from sidecar.check.check import first_names

_PLAIN_NAME = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_NO_DELETES = ReplacementRules()
_KINDS = ("incremental", "blocking")
_TYPE, _COLLECTIONS, _CONDITIONS = "type", "data-collections", "additional-conditions"
_COLLECTION, _FILTER = "data-collection", "filter"
_REPLACE = "replace"
_MESSAGE = "message"

Names = tuple[str, ...]
Filters = tuple[tuple[str, str], ...]
"""Pairs of a name and a query."""


def apply_signal(
    progress: SnapshotProgress,
    signal: Signal,
    namespaces: Namespaces,
    rules: ReplacementRules = _NO_DELETES,
) -> tuple[SnapshotProgress, SignalResult]:
    """Apply a signal. A rejected signal changes only `seen` and `kafka_offset`."""
    if signal.occurrence is not None and signal.occurrence in progress.seen:
        return progress, SignalResult(True, "The agent has already processed this signal.")
    seen = progress.with_signal(signal.occurrence, signal.kafka_offset)
    try:
        match signal.type:
            case "execute-snapshot":
                return _execute(seen, signal, namespaces, rules)
            case "stop-snapshot":
                return _stop(seen, signal.data)
            case "pause-snapshot" | "resume-snapshot":
                return _pause(seen, signal.data, is_paused=signal.type == "pause-snapshot")
            case "log":
                message = signal.data.get(_MESSAGE)
                if not isinstance(message, str):
                    raise InvalidSignalError(f"`{_MESSAGE}` must be a string.")
                return seen, SignalResult(True, message)
        raise InvalidSignalError(
            f"The type {signal.type!r} is unknown; it must be `execute-snapshot`, "
            "`stop-snapshot`, `pause-snapshot`, `resume-snapshot` or `log`."
        )
    except InvalidSignalError as error:
        return seen, SignalResult(False, str(error))


def _execute(
    progress: SnapshotProgress, signal: Signal, namespaces: Namespaces, rules: ReplacementRules
) -> tuple[SnapshotProgress, SignalResult]:
    """Snapshot the matching collections, or replace the documents in their topics."""
    data = signal.data
    _check(data, (_TYPE, _COLLECTIONS, _CONDITIONS, _REPLACE))
    if _COLLECTIONS not in data:
        raise InvalidSignalError(
            f"`{_COLLECTIONS}` must list the collections to snapshot: names or regular "
            "expressions over `database.collection`."
        )
    filters, replaces = _filters(data), data.get(_REPLACE, False)
    if not isinstance(replaces, bool) or (replaces and filters):
        raise InvalidSignalError(
            f"`{_REPLACE}` must be true or false, and true only without `{_CONDITIONS}`."
        )
    names = _names(data)
    _check_names(names, filters, namespaces)
    if replaces:
        return _replace(progress, names, rules)
    if not names:
        return progress, SignalResult(True, "`data-collections` is empty; no snapshot starts.")
    request = SnapshotRequest(SnapshotReason.SIGNAL, names, filters, signal=signal.id or None)
    message = f"A snapshot of the collections matching {first_names(names)} starts."
    if progress.is_paused:
        message += " Snapshots are paused; send `resume-snapshot` to resume them."
    return progress.requested(request), SignalResult(True, message)


def _replace(
    progress: SnapshotProgress, names: Names, rules: ReplacementRules
) -> tuple[SnapshotProgress, SignalResult]:
    entries = [each for name in names for each in _meant(name, progress)]
    if not entries:
        raise InvalidSignalError(
            f"No replaced collection matches {first_names(names)}. Name a captured "
            "collection as `database.collection`."
        )
    for entry in entries:
        progress = ordered(progress, entry, rules)
    message = f"The topics of {first_names([each.namespace for each in entries])} "
    if rules.no_deletes:
        message += (
            "receive their missing documents, but no deletes, "
            f"because {rules.no_deletes}: delete documents of the old collections in the target."
        )
    else:
        message += "receive their missing documents, and deletes of their surplus documents."
    return progress, SignalResult(True, message)


def _meant(name: str, progress: SnapshotProgress) -> list[ReplacedCollection]:
    """Return the replaced collections that a name selects, else the collection with this name."""
    exact = [each for each in progress.replaced if each.namespace == name]
    expression = name_expression(name, is_linear=True)
    found = exact or [each for each in progress.replaced if expression.matches(each.namespace)]
    plain = _PLAIN_NAME.fullmatch(name)
    return found if found or plain is None else [unreported(plain[1], plain[2])]


def _check_names(names: Names, filters: Filters, namespaces: Namespaces) -> None:
    for name in (*names, *(name for name, _ in filters)):
        _check_expression(name)
        plain = _PLAIN_NAME.fullmatch(name)
        if plain is not None and not namespaces.captures(plain[1], plain[2]):
            raise InvalidSignalError(
                f"The agent does not capture {name}, so its changes would not follow the snapshot. "
                "Add it to `collection.include.list`; the next start then snapshots it."
            )
    for name, query in filters:
        try:
            parse_filter(query)
        except ValueError as error:
            raise InvalidSignalError(f"The filter of {name} is invalid: {error}.") from error


def _check_expression(name: str) -> None:
    try:
        # Senders of signals may have fewer privileges than the agent.
        name_expression(name, is_linear=True)
    except ValueError as error:
        raise InvalidSignalError(f"{error}.") from error


def _stop(
    progress: SnapshotProgress, data: Mapping[str, Any]
) -> tuple[SnapshotProgress, SignalResult]:
    """Stop the snapshots of matching collections, or all snapshots without names."""
    _check(data, (_TYPE, _COLLECTIONS), needs_type=True)
    names = _names(data)
    for name in names:
        _check_expression(name)
    expressions = [(name, name_expression(name)) for name in names]

    def is_meant(namespace: str) -> bool:
        return not expressions or any(
            namespace == name or expression.matches(namespace) for name, expression in expressions
        )

    skipped = [each.namespace for each in progress.refused if is_meant(each.namespace)]
    progress = progress.with_refused_skipped(skipped)
    if not names:
        stopped = progress.collections
        progress = progress.without_requests()
    else:
        stopped = tuple(each for each in progress.collections if is_meant(each.namespace))
        requests = [replace(each, but=(*each.but, *names)) for each in progress.requests]
        progress = replace(progress, requests=tuple(requests))
    progress = progress.stopped(stopped, "stopped by a signal")
    ended = [*(each.namespace for each in stopped), *skipped]
    if not ended:
        return progress, SignalResult(True, "No snapshot of these collections is running.")
    return progress, SignalResult(True, f"The snapshot of {first_names(ended)} is stopped.")


def _pause(
    progress: SnapshotProgress, data: Mapping[str, Any], *, is_paused: bool
) -> tuple[SnapshotProgress, SignalResult]:
    _check(data, (_TYPE,))
    if progress.is_paused == is_paused:
        state = "already paused" if is_paused else "not paused"
        return progress, SignalResult(True, f"Snapshots are {state}.")
    message = "Snapshots resume."
    if is_paused:
        message = "Snapshots are paused; the stream continues. Send `resume-snapshot` to resume."
    return progress.paused(is_paused), SignalResult(True, message)


def _check(data: Mapping[str, Any], known: Collection[str], *, needs_type: bool = False) -> None:
    """Reject an unknown type, and unknown fields: a mistyped condition would otherwise snapshot too
    many documents."""
    kind = data.get(_TYPE) if needs_type else data.get(_TYPE, _KINDS[0])
    if not isinstance(kind, str) or kind.lower() not in _KINDS:
        raise InvalidSignalError(
            f"`data.{_TYPE}` is {kind!r}; it must be `incremental` or `blocking`, which the agent "
            "treats alike."
        )
    unknown = sorted(data.keys() - set(known))
    if unknown:
        raise InvalidSignalError(
            f"`data` has unknown fields `{'`, `'.join(unknown)}`. Use `{'`, `'.join(known)}`."
        )


def _names(data: Mapping[str, Any]) -> Names:
    names = data.get(_COLLECTIONS, [])
    if not isinstance(names, list) or not all(isinstance(each, str) and each for each in names):
        raise InvalidSignalError(f"`{_COLLECTIONS}` must be a list of names.")
    return tuple(names)


def _filters(data: Mapping[str, Any]) -> Filters:
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
