"""Fail points of one member: `configureFailPoint` with `failCommand`, as driver tests use it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.harness.mongo.errors import CommandError


@dataclass
class FailCommand:
    """What `failCommand` does. `skips` commands pass first; `times` None is without end."""

    data: Mapping[str, Any]
    times: int | None
    skips: int = 0

    def hits(self, command: str, application: str | None) -> bool:
        """Whether this command fails; counts it."""
        if command not in self.data.get("failCommands", ()) or self.times == 0:
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
    def error(self) -> CommandError | None:
        if "errorCode" not in self.data:
            return None
        message = "Failing command via 'failCommand' failpoint"
        return CommandError(self.data["errorCode"], message, self.data.get("errorLabels", ()))


def parse_fail_point(body: Mapping[str, Any]) -> FailCommand | None:
    """The fail point that a command sets, None where it takes it away."""
    if body["configureFailPoint"] != "failCommand":
        raise CommandError(2, f"unknown fail point {body['configureFailPoint']}")
    mode = body["mode"]
    if mode == "off":
        return None
    data = body.get("data", {})
    if mode == "alwaysOn":
        return FailCommand(data, None)
    if isinstance(mode, Mapping):
        return FailCommand(data, mode.get("times"), mode.get("skip", 0))
    raise CommandError(2, f"unknown mode {mode!r}")
