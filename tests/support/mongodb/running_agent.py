"""The agent in a thread of the test, over a sink in memory, as scenarios use it."""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mongo_agent.config.loading import load_config
from mongo_agent.service import MongoService
from sidecar.events import Message
from sidecar.process.lifecycle import Stop
from tests.support.servers.processes import DEADLINE_S, wait_until
from tests.support.sinks.memory_sink import MemorySink

_SHUTDOWN_MS = 60_000


@dataclass(frozen=True, slots=True)
class Published:
    """A message, decoded as a consumer does it."""

    topic: str
    kind: str
    key: Any
    value: Any
    headers: Mapping[str, bytes]

    @property
    def id(self) -> Any:
        """`_id` of the document."""
        return json.loads(self.key["id"])

    @property
    def after(self) -> Any:
        return None if self.value["after"] is None else json.loads(self.value["after"])

    @property
    def before(self) -> Any:
        return None if self.value["before"] is None else json.loads(self.value["before"])


class RunningAgent:
    """`with RunningAgent(directory, properties) as agent:`; what ended it is in `error`."""

    def __init__(
        self,
        directory: Path,
        connection_string: str,
        properties: Mapping[str, object] | None = None,
        *,
        sink: MemorySink | None = None,
        **named: object,
    ) -> None:
        """`properties` are added or replaced; those that are `named` have `_` for `.`. The
        directory holds the progress."""
        directory.mkdir(parents=True, exist_ok=True)
        self.offsets = directory
        self._values: dict[str, object] = {
            "topic.prefix": "p",
            "mongodb.connection.string": connection_string,
            "mongodb.server.selection.timeout.ms": 2000,
            "mongodb.heartbeat.frequency.ms": 500,
            "connect.backoff.initial.delay.ms": 20,
            "connect.backoff.max.delay.ms": 100,
            "cursor.max.await.time.ms": 20,
            "offset.flush.interval.ms": 0,
            "offset.backing.store.dir": directory,
            "snapshot.mode": "no_data",
            "sink": "file",
            "file.path": directory / "unused.ndjson",
            "http.host": "127.0.0.1",
            "http.port": 0,
            **(properties or {}),
            **{name.replace("_", "."): value for name, value in named.items()},
        }
        self.sink = sink or MemorySink()
        self.error: BaseException | None = None
        self.stop = Stop(int(str(self._values.get("shutdown.timeout.ms", _SHUTDOWN_MS))))
        self._thread = threading.Thread(target=self._run, name="the agent")
        self.service = MongoService(self.configuration(), self.sink)

    def configuration(self) -> Any:
        path = self.offsets / "mongo.properties"
        texts = {name: str(value).replace("\\", "\\\\") for name, value in self._values.items()}
        path.write_text("".join(f"{name}={text}\n" for name, text in texts.items()))
        return load_config([path])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.stop.request()
        self._thread.join(DEADLINE_S)
        self.stop.close()
        if error is None and self.error is not None:
            raise self.error

    @contextmanager
    def streaming(self) -> Iterator[Self]:
        """Runs it; inside the block its stream is open, so that what is written there is in it."""
        with self:
            self.wait_until_streaming()
            yield self

    @property
    def acknowledged(self) -> int:
        """Messages of this process that the agent knows to be safe."""
        found = re.search(
            rb"^cdc_events_acknowledged_total (\S+)", self.service.status.metrics(), re.M
        )
        return int(float(found[1])) if found else 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.service.http_port}"

    def stop_at_once(self) -> None:
        """Does not wait for events that are unacknowledged by then."""
        self.stop.request()
        self._thread.join(DEADLINE_S)

    @property
    def published(self) -> list[Published]:
        """Everything that the sink took so far."""
        return [_published(message) for _, message in list(self.sink.messages)]

    @property
    def has_begun(self) -> bool:
        """Whether it reads a stream."""
        return any(each.name == "stream" for each in self.service.status.health().components)

    @property
    def is_snapshot_running(self) -> bool:
        """Whether something is left to copy, or is not delivered."""
        found = {each.name: each for each in self.service.status.health().components}
        snapshot = found.get("snapshot")
        return snapshot is not None and bool(snapshot.details["is_running"])

    def of_documents(self) -> list[Published]:
        """Without tombstones, heartbeats and the like."""
        kinds = {"insert", "update", "replace", "delete", "read"}
        return [each for each in self.published if each.kind in kinds]

    def wait_for(self, messages: int) -> list[Published]:
        """Waits until the sink has so many messages; returns all of them."""
        self.wait_until(lambda: len(self.sink.messages) >= messages, f"{messages} messages")
        return self.published

    def wait_until_streaming(self) -> None:
        """Until the stream is open, so that what is written from here on is in it."""
        self.wait_until(lambda: self.service.status.ready().ok, "an open stream")

    def wait_until_stored(self, time: Any) -> None:
        """Until the position of everything up to a cluster time is stored."""

        def is_stored() -> bool:
            stored = self.service.status.offsets()["stored"]
            assert isinstance(stored, Mapping)
            second, _, increment = str(stored.get("cluster.time", "0:0")).partition(":")
            return (int(second), int(increment)) > (time.time, time.inc)

        self.wait_until(is_stored, f"the position behind {time}")

    def wait_until(self, condition: Any, what: str) -> None:
        wait_until(lambda: condition() or not self._thread.is_alive(), what)
        if not self._thread.is_alive() and self.error is not None:
            raise self.error

    def wait_for_dead_letter(self) -> Any:
        """The first line of the file of dead letters, once it is written whole."""
        kept = self.offsets / "quarantine" / "refused.ndjson"
        self.wait_until(lambda: kept.exists() and b"\n" in kept.read_bytes(), "a dead letter")
        return json.loads(kept.read_bytes().splitlines()[0])

    def wait_until_ended(self) -> BaseException | None:
        """The error that ended it, or None."""
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()
        error, self.error = self.error, None
        return error

    def _run(self) -> None:
        try:
            self.service.run(self.stop)
        except BaseException as error:
            self.error = error


def _published(message: Message) -> Published:
    topic, key, value, headers, _ = message
    named = dict(headers)
    kind = named["cdc.kind"].decode()
    decoded = None if value is None else json.loads(value)
    return Published(topic, kind, json.loads(key), decoded, named)


RunAgent = Callable[..., RunningAgent]
