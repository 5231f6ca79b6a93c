"""Application of signals to the snapshot progress, without queries to the server."""

import re
from dataclasses import replace

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import parse_filter
from mongo_agent.signals.commands import (
    ExecuteSnapshot,
    LogMessage,
    PauseSnapshot,
    StopSnapshot,
    parse_command,
)
from mongo_agent.signals.signal import InvalidSignalError, Signal, SignalResult
from mongo_agent.snapshot.collections import name_expression
from mongo_agent.snapshot.ddl_events import ReplacementRules, ordered, unreported
from mongo_agent.snapshot.progress import SnapshotProgress
from mongo_agent.snapshot.records import (
    ReplacedCollection,
    SnapshotOutcome,
    SnapshotReason,
    SnapshotRequest,
)
from sidecar.check.check import first_names

_PLAIN_NAME = re.compile(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)")
_NO_DELETES = ReplacementRules()
_STOPPED = "stopped by a signal"


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
        asked = parse_command(signal)
        match asked:
            case ExecuteSnapshot(replaces=True):
                return _replace(seen, asked, namespaces, rules)
            case ExecuteSnapshot():
                return _execute(seen, signal, asked, namespaces)
            case StopSnapshot():
                return _stop(seen, asked)
            case PauseSnapshot():
                return _pause(seen, asked)
            case LogMessage():
                return seen, SignalResult(True, asked.message)
    except InvalidSignalError as error:
        return seen, SignalResult(False, str(error))


def _execute(
    progress: SnapshotProgress, signal: Signal, asked: ExecuteSnapshot, namespaces: Namespaces
) -> tuple[SnapshotProgress, SignalResult]:
    _check(asked, namespaces)
    if not asked.names:
        return progress, SignalResult(True, "`data-collections` is empty; no snapshot starts.")
    request = SnapshotRequest(
        SnapshotReason.SIGNAL, asked.names, asked.filters, signal=signal.id or None
    )
    message = f"A snapshot of the collections matching {first_names(asked.names)} starts."
    if progress.is_paused:
        message += " Snapshots are paused; send `resume-snapshot` to resume them."
    return progress.requested(request), SignalResult(True, message)


def _replace(
    progress: SnapshotProgress,
    asked: ExecuteSnapshot,
    namespaces: Namespaces,
    rules: ReplacementRules,
) -> tuple[SnapshotProgress, SignalResult]:
    _check(asked, namespaces)
    entries = [each for name in asked.names for each in _meant(name, progress)]
    if not entries:
        raise InvalidSignalError(
            f"No replaced collection matches {first_names(asked.names)}. Name a captured "
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


def _check(asked: ExecuteSnapshot, namespaces: Namespaces) -> None:
    for name in (*asked.names, *(name for name, _ in asked.filters)):
        _check_expression(name)
        plain = _PLAIN_NAME.fullmatch(name)
        if plain is not None and not namespaces.captures(plain[1], plain[2]):
            raise InvalidSignalError(
                f"The agent does not capture {name}, so its changes would not follow the snapshot. "
                "Add it to `collection.include.list`; the next start then snapshots it."
            )
    for name, query in asked.filters:
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


def _stop(progress: SnapshotProgress, asked: StopSnapshot) -> tuple[SnapshotProgress, SignalResult]:
    for name in asked.names:
        _check_expression(name)
    expressions = [(name, name_expression(name)) for name in asked.names]

    def is_meant(namespace: str) -> bool:
        return not expressions or any(
            namespace == name or expression.matches(namespace) for name, expression in expressions
        )

    skipped = [each.namespace for each in progress.refused if is_meant(each.namespace)]
    progress = progress.with_refused_skipped(skipped)
    if not asked.names:
        stopped = progress.collections
        progress = progress.without_requests()
    else:
        stopped = tuple(each for each in progress.collections if is_meant(each.namespace))
        requests = [replace(each, but=(*each.but, *asked.names)) for each in progress.requests]
        progress = replace(progress, requests=tuple(requests))
    for each in stopped:
        progress = progress.ended(each.number, SnapshotOutcome.STOPPED, _STOPPED)
    names = [*(each.namespace for each in stopped), *skipped]
    if not names:
        return progress, SignalResult(True, "No snapshot of these collections is running.")
    return progress, SignalResult(True, f"The snapshot of {first_names(names)} is stopped.")


def _pause(
    progress: SnapshotProgress, asked: PauseSnapshot
) -> tuple[SnapshotProgress, SignalResult]:
    if progress.is_paused == asked.is_paused:
        state = "already paused" if asked.is_paused else "not paused"
        return progress, SignalResult(True, f"Snapshots are {state}.")
    message = "Snapshots resume."
    if asked.is_paused:
        message = "Snapshots are paused; the stream continues. Send `resume-snapshot` to resume."
    return progress.paused(asked.is_paused), SignalResult(True, message)
