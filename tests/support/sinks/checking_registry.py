"""The stand-in of a registry with the check that real ones make before they take a schema: that of
Avro's own Java library."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from tests.support.avro.java_avro import JavaAvro
from tests.support.sinks.fake_registry import Answer, FakeRegistry


@dataclass
class CheckingRegistry(FakeRegistry):
    """Every subject is under BACKWARD, but those of `without_check`."""

    without_check: set[str] = field(default_factory=set)
    is_away: bool = False
    _numbers: dict[str, int] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._java = JavaAvro()
        self._java.__enter__()
        self._one_at_a_time = threading.Lock()
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        super().__exit__(None, None, None)
        self._java.__exit__(None, None, None)

    def versions(self, subject: str) -> list[int]:
        """Ids of a subject's schemas, the oldest first."""
        return [self.schemas.index(each) for each in self.subjects[subject]]

    def allow_any(self, subject: str) -> None:
        self.without_check.add(subject)

    @contextmanager
    def outage(self) -> Iterator[None]:
        """It answers nothing until the end of the block."""
        self.is_away = True
        try:
            yield
        finally:
            self.is_away = False

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        with self._one_at_a_time:
            if self.is_away:
                return 503, {"error_code": 50302, "message": "the leader is unknown"}
            if method == "POST" and path.endswith("/versions"):
                subject = path.split("/")[2]
                why = self._objections(subject, str(json.loads(body)["schema"]))
                if why:
                    return 409, {"error_code": 409, "message": f"{subject}: {'; '.join(why)}"}
            return super().answer(method, path, body)

    def _objections(self, subject: str, schema: str) -> tuple[str, ...]:
        """Why the subject does not take a schema."""
        new = self._parsed(schema)
        versions = self.subjects.get(subject, [])
        if not versions or subject in self.without_check:
            return ()
        return self._java.compare(reader=new, writer=self._parsed(versions[-1])).why

    def _parsed(self, schema: str) -> int:
        """Its number in Java, which refuses what is no schema."""
        if schema not in self._numbers:
            self._java.parse(len(self._numbers), schema)
            self._numbers[schema] = len(self._numbers)
        return self._numbers[schema]
