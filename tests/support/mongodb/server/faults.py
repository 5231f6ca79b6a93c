"""Fail points of one member, as driver tests set them with `configureFailPoint`.

`failCommand` fails commands before they begin; `failGetMoreAfterCursorCheckout` fails a `getMore`
that has its cursor, so that the error carries what a change stream's own errors carry.
`onPrimaryTransactionalWrite` acts on a retryable write of one document.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.mongodb.server.errors import CommandError

OF_WRITES = "onPrimaryTransactionalWrite"
_OF_CURSORS = "failGetMoreAfterCursorCheckout"
_ALIASES = {"ismaster": "isMaster", "findandmodify": "findAndModify"}


@dataclass
class FailCommand:
    """Which commands fail, and how. `skips` commands pass first; `times` None is without end."""

    data: Mapping[str, Any]
    times: int | None
    skips: int = 0
    is_before_cursor: bool = True

    def hits(self, command: str, application: str | None) -> bool:
        """Whether this command fails; counts it."""
        names = {_ALIASES.get(each, each) for each in self.data.get("failCommands", ())}
        if _ALIASES.get(command, command) not in names or self.times == 0:
            return False
        if self.data.get("appName", application) != application:
            return False
        if self.skips:
            self.skips -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True

    @property
    def closes_connection(self) -> bool:
        return bool(self.data.get("closeConnection"))

    @property
    def block_s(self) -> float:
        return self.data.get("blockTimeMS", 0) / 1000 if self.data.get("blockConnection") else 0

    @property
    def labels(self) -> Sequence[str] | None:
        """The labels of the error, where the fail point names them; an empty list means none."""
        return self.data.get("errorLabels")

    @property
    def error(self) -> CommandError | None:
        if "errorCode" not in self.data:
            return None
        return CommandError(
            self.data["errorCode"], "Failing command via failpoint", self.labels, is_injected=True
        )


@dataclass
class FailWrite:
    """Retryable writes whose connection closes, before or after they happen.

    `skips` documents are written first; `times` None is without end.
    """

    data: Mapping[str, Any]
    times: int | None
    skips: int = 0

    def hits(self) -> bool:
        """Whether this write fails; counts it."""
        if self.times == 0:
            return False
        if self.skips:
            self.skips -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True

    @property
    def closes_connection(self) -> bool:
        return bool(self.data.get("closeConnection", True))

    @property
    def error(self) -> CommandError | None:
        """The error in place of the write."""
        code = self.data.get("failBeforeCommitExceptionCode")
        return None if code is None else CommandError(code, "Failing write due to failpoint")


def parse_write_fail_point(body: Mapping[str, Any]) -> FailWrite | None:
    """The fail point that a command sets for writes, None where it takes it away."""
    mode = body["mode"]
    if mode == "off":
        return None
    counts: Mapping[str, int] = mode if isinstance(mode, Mapping) else {}
    return FailWrite(body.get("data", {}), counts.get("times"), counts.get("skip", 0))


def parse_fail_point(body: Mapping[str, Any]) -> FailCommand | None:
    """The fail point that a command sets, None where it takes it away."""
    name = body["configureFailPoint"]
    if name not in ("failCommand", _OF_CURSORS):
        raise CommandError(2, f"unknown fail point {name}")
    mode = body["mode"]
    if mode == "off":
        return None
    data = dict(body.get("data", {}))
    if name == _OF_CURSORS:
        data["failCommands"] = ["getMore"]
    is_before_cursor = name != _OF_CURSORS
    if mode == "alwaysOn":
        return FailCommand(data, None, is_before_cursor=is_before_cursor)
    if isinstance(mode, Mapping):
        return FailCommand(data, mode.get("times"), mode.get("skip", 0), is_before_cursor)
    raise CommandError(2, f"unknown mode {mode!r}")
