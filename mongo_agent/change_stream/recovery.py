"""What is done about a stream that failed: a decision for each class of failures, no effect."""

from dataclasses import dataclass
from typing import Literal

from mongo_agent.change_stream.position import Opening, StreamPosition, reopening
from mongo_agent.server.deployment import STANDALONE
from mongo_agent.server.failures import Failure
from sidecar.errors import ConfigError, RefusedError, SidecarError, UnavailableError

HistoryLostPolicy = Literal["fail", "resnapshot", "skip"]
OversizePolicy = Literal["fail", "skip", "split"]


class HistoryLostError(SidecarError):
    """The stored position is no longer in the oplog; going on would leave a gap in silence."""


@dataclass(frozen=True, slots=True)
class RecoveryPolicy:
    """What the operator wants where there is a choice."""

    history_lost: HistoryLostPolicy = "fail"
    oversize: OversizePolicy = "split"
    waits_when_refused: bool = False
    """Whether a server that refuses the agent's credentials is tried again without end."""


@dataclass(frozen=True, slots=True)
class LostHistory:
    """Changes behind `since` up to the place where the stream begins anew are not in it."""

    since: StreamPosition
    reason: str
    is_copied_again: bool


@dataclass(frozen=True, slots=True)
class Reopen:
    """The stream is opened so; with `has_pause` only after the next pause of the table."""

    opening: Opening
    sentence: str
    has_pause: bool = True
    lost: LostHistory | None = None
    is_refusal: bool = False

    def gives_up(self, attempts: int) -> SidecarError:
        """The error when no pause is left."""
        if self.is_refusal:
            return RefusedError(self.sentence)
        return UnavailableError(
            f"MongoDB could not be read in {attempts} attempts: {self.sentence} "
            "`connect.max.attempts` and `connect.backoff.max.delay.ms` say how long it is tried."
        )


@dataclass(frozen=True, slots=True)
class Abort:
    """Only the operator can go on from here."""

    error: SidecarError


def recovery(
    failure: Failure | None,
    message: str,
    last: Opening,
    position: StreamPosition,
    rules: RecoveryPolicy,
) -> Reopen | Abort:
    """`failure` is None when the server closed the cursor. `last` is how the stream was opened,
    `position` where it has come to."""
    if failure is None:
        # Only `startAfter` goes on behind the token of an invalidation.
        again = reopening(last, position, Failure.RESUMABLE)
        return Reopen(again or last, message, has_pause=False)
    if failure is Failure.AUTHENTICATION:
        sentence = (
            f"MongoDB refuses the login: {message}. Correct `mongodb.user`, "
            "`mongodb.password` and `mongodb.authsource`."
        )
        if rules.waits_when_refused:
            return Reopen(_same(last, position), sentence, is_refusal=True)
        return Abort(RefusedError(sentence))
    if failure is Failure.NOT_SUPPORTED:
        return Abort(ConfigError(f"{STANDALONE} MongoDB says: {message}"))
    if failure is Failure.AUTHORISATION:
        sentence = (
            f"A privilege is missing: {message}. `mongo-agent check` names it and the command "
            "that grants it."
        )
        return Reopen(_same(last, position), sentence, is_refusal=True)
    if failure is Failure.TOO_LARGE and rules.oversize == "fail":
        return Abort(
            SidecarError(
                f"An event is larger than 16 MiB: {message}. "
                "`cursor.oversize.handling.mode=split` reads such events in parts."
            )
        )
    again = reopening(last, position, failure)
    if again is not None:
        has_pause = failure not in (Failure.TOO_LARGE, Failure.FILTERED_TOKEN)
        return Reopen(again, _sentence(failure, message), has_pause)
    return _without_history(message, last, position, rules)


def _same(last: Opening, position: StreamPosition) -> Opening:
    return reopening(last, position, Failure.RESUMABLE) or last


def _sentence(failure: Failure, message: str) -> str:
    if failure is Failure.TOO_LARGE:
        return "an event is larger than 16 MiB and is read in parts"
    if failure is Failure.FILTERED_TOKEN:
        return "the filters leave out the event of the position, so the stream is opened by time"
    return f"the change stream is opened again: {message}"


def _without_history(
    message: str, last: Opening, position: StreamPosition, rules: RecoveryPolicy
) -> Reopen | Abort:
    since = f" (cluster time {position.time})"
    if rules.history_lost == "fail":
        return Abort(
            HistoryLostError(
                f"The stored position{since} cannot be read on from: {message}. What was changed "
                "since then is not all in the oplog. Set `history.lost.policy=resnapshot` to copy "
                "the captured collections again, or `skip` to go on with a gap that is put on "
                "record; a larger oplog (`replSetResizeOplog`) keeps more."
            )
        )
    is_copied = rules.history_lost == "resnapshot"
    what = "copies the collections again" if is_copied else "goes on with a gap"
    sentence = f"the position{since} is lost and the agent {what}: {message}"
    lost = LostHistory(position, message, is_copied)
    return Reopen(Opening(is_split=last.is_split), sentence, has_pause=False, lost=lost)
