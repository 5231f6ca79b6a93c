"""What the product said: conditions, warnings, dead letters, messages of jobs.

A condition that ended explains nothing at the end of a round, so its log lines are left out.
"""

import json
import logging
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.servers.agent_process import AgentProcess

_INTERVAL_S = 0.5
_LOUD = re.compile(r"^\S+ (?:WARNING|ERROR|CRITICAL) ")
_OF_CLIENTS = "Kafka client message"


class Said:
    """`with said.following(agent):` asks `/health` in a thread; `sentences` are all that count."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._now: list[str] = []
        self._lines: list[str] = []
        self._others: list[str] = []

    def add(self, text: str) -> None:
        """A message of a job, a dead letter or an answer of a command."""
        self._others.append(text)

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

    @contextmanager
    def of_jobs(self) -> Iterator[None]:
        """Inside the block the warnings of Spark jobs are noted."""
        handler = _Handler(self._others)
        logger = logging.getLogger("spark_jobs")
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)

    def ask(self, agent: AgentProcess) -> None:
        """The present conditions of a running agent."""
        try:
            health = agent.ask("/health") or {}
        except (ValueError, OSError):
            return
        self.note(_messages(health))

    def note(self, messages: Iterable[str]) -> None:
        """The conditions that hold now."""
        self._now = list(messages)
        self._seen.update(self._now)

    def read_log(self, lines: Iterable[str]) -> None:
        """The whole log of an agent, at the end."""
        self._lines = [line for line in lines if _LOUD.match(line) and _OF_CLIENTS not in line]

    @property
    def conditions(self) -> list[str]:
        """Those that hold now."""
        return list(self._now)

    @property
    def sentences(self) -> list[str]:
        gone = [each for each in self._seen if each not in self._now]
        lines = [line for line in self._lines if not any(each in line for each in gone)]
        return [*self._now, *lines, *self._others]

    def names(self, *names: str) -> str | None:
        """The first sentence with one of the names, as it is or as texts show it."""
        wanted = {shown for name in names if name for shown in _shown(name)}
        return next((each for each in self.sentences if any(one in each for one in wanted)), None)


class _Handler(logging.Handler):
    def __init__(self, texts: list[str]) -> None:
        super().__init__(logging.WARNING)
        self._texts = texts

    def emit(self, record: logging.LogRecord) -> None:
        self._texts.append(f"{record.getMessage()} {getattr(record, 'sidecar_fields', '')}")


def _shown(name: str) -> set[str]:
    return {
        name,
        json.dumps(name)[1:-1],
        json.dumps(name, ensure_ascii=False)[1:-1],
        repr(name)[1:-1],
        ascii(name)[1:-1],
        name.replace('"', '""'),
    }


def _messages(health: Any) -> Iterator[str]:
    """Messages of everything in the answer that is no good state."""
    for condition in health.get("conditions", []):
        yield str(condition.get("message", ""))
    for component in health.get("components", {}).values():
        if component.get("status") not in (None, "ok") and component.get("message"):
            yield str(component["message"])
