"""Signal channels other than the change stream: HTTP, a Kafka topic, and a file."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import replace
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, request

from mongo_agent.signals.signal import (
    Signal,
    SignalResult,
    is_answered,
    parse_signal,
    parse_signal_text,
)
from sidecar.files.regular import read_regular
from sidecar.http.requests import json_answer, request_answer
from sidecar.logs import RateLimitedLog, fields
from sidecar.process.lifecycle import Worker
from sidecar.sinks.kafka.topics.reader import TailedRecord, TopicTailer

logger = logging.getLogger(__name__)

_MAX_BYTES = 16 << 20
_SUFFIX = ".taken"
_POLL_INTERVAL_S = 0.5
_WAIT_S = 20.0
_NO_ANSWER = (
    "The agent has not stored the signal yet: it is starting or stopping, or the sink is "
    "unavailable. GET /snapshot shows whether it was accepted."
)

Send = Callable[[Signal], Future[SignalResult]]
Snapshots = Callable[[], Mapping[str, Mapping[str, Any]]]


def signal_pages(send: Send, snapshots: Snapshots, *, wait_s: float = _WAIT_S) -> Blueprint:
    """Serve signals and snapshot progress over HTTP. `send` passes a signal to the pipeline;
    `snapshots` returns the progress as JSON. Server threads call both.

    POST /signals    {"id", "type", "data"}   202, 4xx or 5xx with {"accepted", "message"}
    GET  /snapshot   progress of snapshots, by stream

    The agent answers 202 once it has stored the signal with the offsets, so no crash undoes it.

    Signals require the token in `http.token.file`, if set. Otherwise every client that reaches
    `http.host` and `http.port` can start a snapshot. The body must be `application/json`, which web
    pages from other origins cannot send without a preflight request.
    """
    pages = Blueprint("signals", __name__)

    @pages.post("/signals")
    def signals() -> Response:
        document = request.get_json(silent=True)
        if not isinstance(document, dict):
            message = 'The body must be a JSON object: {"type": …, "data": …}.'
            return request_answer(False, message, 415 if not request.is_json else 400)
        try:
            answer = send(parse_signal(document, "http")).result(wait_s)
        except (FutureTimeoutError, CancelledError):
            return request_answer(False, _NO_ANSWER, 503)
        status = 202 if answer.is_accepted else 422
        return request_answer(answer.is_accepted, answer.message, status)

    @pages.get("/snapshot")
    def snapshot() -> Response:
        return json_answer({"streams": dict(snapshots())})

    return pages


def topic_signal(record: TailedRecord, logical_name: str) -> Signal | None:
    """Parse the signal in a record; return None for another agent's key."""
    if record.key != logical_name.encode():
        return None
    return replace(parse_signal_text(record.value or b"", "kafka"), kafka_offset=record.offset)


class SignalTopic(TopicTailer):
    """The channel `kafka`, as in Debezium: passes signals to `send` and waits for each result.

    The key is the logical name (`topic.prefix`), the value {"id", "type", "data"}; the topic has
    one partition. The read offset is part of the snapshot progress (`kafka_offset`), so the agent
    stores it in one step with the effect of the signal. The first start reads from the offset that
    Debezium's connector committed for the group `signal.kafka.groupId`, else from the beginning.

    `after` is `SnapshotProgress.kafka_offset`; `settings` use the names of a Java client.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        topic: str,
        logical_name: str,
        after: int | None,
        send: Send,
        *,
        group: str = "kafka-signal",
    ) -> None:
        """Raises ConfigError for invalid client settings."""
        self._logical_name = logical_name
        self._send = send
        super().__init__(settings, topic, after, self._handle, group=group)

    def _handle(self, record: TailedRecord) -> None:
        signal = topic_signal(record, self._logical_name)
        if signal is None:
            key = None if record.key is None else record.key.decode(errors="replace")
            logger.info(
                "signal for another agent skipped", extra=fields(key=key, offset=record.offset)
            )
            return
        is_answered(self._send(signal), lambda: self.is_stopping)


def file_signals(content: bytes, taken_as: str) -> Iterator[Signal]:
    for number, line in enumerate(content.splitlines()):
        if line.strip():
            yield replace(parse_signal_text(line, "file"), occurrence=f"{taken_as}:{number}")


class SignalFile(Worker):
    """The channel `file`: one JSON object per line, {"id", "type", "data"}, as in Debezium.

    Passes signals to `send` and waits for each result. The agent renames the file before it reads
    it, so later writes create a new file:

        signals.txt ──rename──▶ signals.txt.<nanoseconds>.taken ──processed by line──▶ deleted

    A result means that the effect of the signal is stored. After a restart the agent first
    processes leftover files; it recognises stored signals by file name and line number. The agent
    renames a file that ends in a newline, or that did not grow between two polls.
    """

    def __init__(self, path: Path, send: Send, *, interval_s: float = _POLL_INTERVAL_S) -> None:
        super().__init__("signal-file", self._run, join_s=None)
        self._path = path
        self._send = send
        self._interval_s = interval_s
        self._repeated = RateLimitedLog(logger)
        self._seen_size = 0

    def _run(self, stopped: threading.Event) -> None:
        while not stopped.is_set():
            try:
                self._poll()
                self._repeated.resolved("file", "The signal file is readable again.")
            except OSError as error:
                message = (
                    f"signal.file: {self._path} cannot be processed: {error.strerror}. Retrying."
                )
                self._repeated.log("file", message)
            stopped.wait(self._interval_s)

    def _poll(self) -> None:
        for taken in sorted(self._path.parent.glob(f"{self._path.name}.*{_SUFFIX}")):
            self._process(taken)
        if self._is_whole():
            taken = self._path.with_name(f"{self._path.name}.{time.time_ns()}{_SUFFIX}")
            self._path.replace(taken)
            self._process(taken)

    def _is_whole(self) -> bool:
        """Whether the file has content and no writer appears to be active."""
        try:
            content = read_regular(self._path, _MAX_BYTES)
        except FileNotFoundError:
            self._seen_size = 0
            return False
        seen, self._seen_size = self._seen_size, len(content)
        return bool(content) and (content.endswith(b"\n") or seen == len(content))

    def _process(self, taken: Path) -> None:
        """Process a renamed file, including lines from a writer that still has the file open."""
        done = b""
        while (content := read_regular(taken, _MAX_BYTES)) != done:
            for signal in file_signals(content, taken.name):
                if not is_answered(self._send(signal), lambda: self.is_stopping):
                    return
            done = content
        taken.unlink()
