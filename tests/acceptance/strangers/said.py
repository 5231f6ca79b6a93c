"""What the product said: conditions, warnings, dead letters, messages of jobs.

Neither a condition that ended nor an error that the product does not know explains anything.
"""

import json
import logging
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from sidecar.errors import SidecarError
from sidecar.logs import one_line
from spark_jobs.errors import mapped_error
from tests.support.servers.agent_process import AgentProcess

_INTERVAL_S = 0.5
_LOUD = re.compile(r"^\S+ (?:WARNING|ERROR|CRITICAL) ")
_UNKNOWN = re.compile(r"unexpected(?:ly|\b)|cannot be evaluated|failed to run")
"""What the agents say of an error for which they have no message."""


class Said(logging.Handler):
    """`with said.following(agent):` asks `/health` in a thread; `sentences` are all that count."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.conditions: list[str] = []  # those that hold now
        self.unknown: list[str] = []
        self._seen: set[str] = set()
        self._lines: list[str] = []
        self._others: list[str] = []

    def add(self, text: str) -> None:
        """A message of a job or a dead letter."""
        self._others.append(text)

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno >= logging.WARNING:
            self.add(f"{record.getMessage()} {getattr(record, 'sidecar_fields', '')}")
        if record.exc_info and record.exc_info[1] is not None:
            self.add_error(record.exc_info[1])

    def add_error(self, error: BaseException) -> BaseException:
        """An error of a job, as the product maps it; it counts if the product knows it."""
        mapped = mapped_error(error)
        if isinstance(mapped, SidecarError):
            self.add(str(mapped))
        else:
            self.unknown.append(f"{type(error).__name__}: {error}")
        return mapped

    @contextmanager
    def following(self, agent: AgentProcess) -> Iterator[None]:
        """Inside the block conditions are noted as they come and go."""
        done = threading.Event()

        def follow() -> None:
            while not done.wait(_INTERVAL_S):
                self.ask(agent)

        thread = threading.Thread(target=follow, name="health")
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def ask(self, agent: AgentProcess) -> None:
        """The present conditions of a running agent."""
        with suppress(ValueError, OSError):
            self.note(_messages(agent.ask("/health") or {}))

    def note(self, messages: Iterable[str]) -> None:
        """The conditions that hold now."""
        self.conditions = list(messages)
        self._seen.update(self.conditions)

    def read_log(self, lines: Iterable[str]) -> None:
        """The whole log of an agent, at the end."""
        self._lines = list(filter(_LOUD.match, lines))
        self.unknown += filter(_UNKNOWN.search, self._lines)

    @property
    def sentences(self) -> list[str]:
        gone = self._seen.difference(self.conditions)
        lines = [line for line in self._lines if not any(each in line for each in gone)]
        return [*self.conditions, *lines, *self._others]

    def names(self, *names: str) -> str | None:
        """A sentence with one of the names, as texts show it; or that nothing is delivered now."""
        wanted = {text for name in names if name for text in shown(name)}
        stopped = [each for each in self.conditions if each.startswith("Events are not delivered:")]
        named = (each for each in self.sentences if any(one in each for one in wanted))
        return next(iter(stopped), None) or next(named, None)


def shown(name: str) -> set[str]:
    """The forms of a name in messages, logs and JSON."""
    texts = (json.dumps(name), json.dumps(name, ensure_ascii=False), repr(name), ascii(name))
    return {name, one_line(name), name.replace('"', '""'), *(text[1:-1] for text in texts)}


def _messages(health: Any) -> list[str]:
    """Messages of everything in the answer that is no good state."""
    components = health.get("components", {}).values()
    bad = [each for each in components if each.get("status") not in (None, "ok")]
    messages = [each.get("message") for each in [*health.get("conditions", []), *bad]]
    return [str(each) for each in messages if each]
