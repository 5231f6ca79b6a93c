"""Recovery of failed streams: a pure decision for each failure class.

`position.reopening` chooses between the resume token and the cluster time.
"""

from dataclasses import dataclass, replace
from typing import Literal

from mongo_agent.change_stream.options import OversizePolicy, can_read, remedy_of
from mongo_agent.change_stream.position import Opening, StreamPosition, reopening, resumption
from mongo_agent.dead_letters import LostTimeRange
from mongo_agent.server.deployment import STANDALONE
from mongo_agent.server.errors import Failure, authentication_message, authorisation_message
from mongo_agent.server.releases import LargeEvents
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError

HistoryLostPolicy = Literal["fail", "resnapshot", "skip"]


_WITHOUT_PAUSE = (Failure.TOO_LARGE, Failure.MEMORY_LIMIT, Failure.FILTERED_TOKEN)


class HistoryLostError(SidecarError):
    """The oplog no longer contains the stored position; resuming would skip changes."""


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    history_lost: HistoryLostPolicy = "fail"
    oversize: OversizePolicy = "split"
    waits_when_denied: bool = False
    """Whether the agent retries without a limit after the server rejects its credentials."""
    large_events: LargeEvents = "split"
    """How the server can handle events above 16 MB."""


@dataclass(frozen=True, slots=True)
class Reopen:
    """Reopen the stream; if `has_pause`, after the next back-off pause."""

    opening: Opening
    message: str
    has_pause: bool = True
    lost: LostTimeRange | None = None
    is_access_denied: bool = False

    def final_error(self, attempts: int) -> SidecarError:
        if self.is_access_denied:
            return AccessDeniedError(self.message)
        return UnavailableError(
            f"MongoDB could not be read in {attempts} attempts: {self.message} "
            "Raise `connect.max.attempts` or `connect.backoff.max.delay.ms` to retry longer."
        )


def recovery(
    failure: Failure | None,
    message: str,
    last: Opening,
    position: StreamPosition,
    rules: RecoveryPolicy,
) -> Reopen | SidecarError:
    """Decide how to recover, or return the error if only the operator can resolve the failure.

    `failure` is None if the server closed the cursor. `last` is the previous opening of the stream,
    `position` its current position.
    """
    if failure is None:
        # Only `startAfter` resumes after the token of an invalidation.
        return Reopen(resumption(last, position), message, has_pause=False)
    if failure is Failure.AUTHENTICATION:
        login_error = authentication_message(message)
        if rules.waits_when_denied:
            return Reopen(resumption(last, position), login_error, is_access_denied=True)
        return AccessDeniedError(login_error)
    if failure is Failure.NOT_SUPPORTED:
        return ConfigError(
            f"MongoDB cannot open a change stream: {message}. `cursor.pipeline` may only have "
            f"stages that streams allow. If the server is a standalone: {STANDALONE}"
        )
    if failure is Failure.AUTHORISATION:
        denied = authorisation_message(message)
        return Reopen(resumption(last, position), denied, is_access_denied=True)
    is_readable = can_read(rules.oversize, rules.large_events) and not last.is_split
    if failure is Failure.TOO_LARGE and not is_readable:
        remedy = remedy_of(rules.oversize, rules.large_events)
        return SidecarError(f"An event exceeds 16 MB: {message}. {remedy}")
    again = reopening(last, position, failure)
    if failure is Failure.MEMORY_LIMIT and again is None:
        return _at_memory_limit(message, last, rules)
    if again is not None:
        has_pause = failure not in _WITHOUT_PAUSE
        return Reopen(again, _reopen_message(failure, message, rules), has_pause)
    return _without_history(failure, message, last, position, rules)


def _at_memory_limit(message: str, last: Opening, rules: RecoveryPolicy) -> Reopen | SidecarError:
    """After a reply of one event exceeded the limit."""
    skip = ""
    if not last.is_bare:
        if rules.oversize == "skip":
            reason = f"an event exceeds the server's memory limit; the agent skips it: {message}"
            return Reopen(replace(last, is_bare=True), reason, has_pause=False)
        skip = " Or set `cursor.oversize.handling.mode=skip` to skip, count and log such events."
    return SidecarError(
        f"One event needs more memory than the server allows an operation: {message}. Raise "
        "`internalQueryMaxMemoryUsageBytesPerOperation` on the servers, or read smaller events "
        f"by `capture.mode` or a `$unset` in `cursor.pipeline`.{skip}"
    )


def _reopen_message(failure: Failure, message: str, rules: RecoveryPolicy) -> str:
    if failure is Failure.TOO_LARGE:
        action = "skips it" if rules.oversize == "skip" else "reads it in parts"
        return f"an event exceeds 16 MB; the agent {action}"
    if failure is Failure.MEMORY_LIMIT:
        return f"the agent reads fewer events at a time: {message}"
    if failure is Failure.FILTERED_TOKEN:
        return "the filters remove the event of the offset; the agent reopens the stream by time"
    return f"the agent reopens the change stream: {message}"


def _without_history(
    failure: Failure, message: str, last: Opening, position: StreamPosition, rules: RecoveryPolicy
) -> Reopen | SidecarError:
    since = f" (cluster time {position.time})"
    if rules.history_lost == "fail":
        cause = (
            "The servers no longer have all later changes. Enlarge the oplog "
            "(`replSetResizeOplog`), and remove a shard only after the agent has read it."
            if failure is Failure.HISTORY_LOST
            else "The token is damaged or from another cluster or stream: restore an intact copy."
        )
        return HistoryLostError(
            f"The stream cannot resume at the stored offset{since}: {message}. {cause} Set "
            "`history.lost.policy=resnapshot` to take a new snapshot, or `skip` to continue "
            "and record the gap."
        )
    is_resnapshot = rules.history_lost == "resnapshot"
    action = "takes a new snapshot" if is_resnapshot else "continues with a gap"
    reason = f"the offset{since} is lost and the agent {action}: {message}"
    lost = LostTimeRange(position.values(), message, is_resnapshot)
    return Reopen(Opening(is_split=last.is_split), reason, has_pause=False, lost=lost)
