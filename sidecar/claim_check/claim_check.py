"""Stores the values of oversized events and makes their references.

An oversized event waits at the head of delivery until the store has its members, so that the order
of a partition stays the same and no reference precedes its object. A thread stores one event at a
time. The name of an object has the event id and the checksum of its bytes, so a repeat after a
crash finds the object that it stored.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar.claim_check.batch import ClaimCheckBatch
from sidecar.claim_check.envelope import split_value
from sidecar.errors import AccessDeniedError
from sidecar.events import DeliveryBatch, Message, NumberedBatch
from sidecar.logs import RateLimitedLog
from sidecar.metrics import DeliveryMetrics
from sidecar.process.wait_policy import RetryPause
from sidecar.sinks.base import SinkState
from sidecar.store.base import StoppableStore, StoreError, StoreStoppedError

logger = logging.getLogger(__name__)

URL, SIZE, SHA256 = "cdc.claim.check", "cdc.claim.size", "cdc.claim.sha256"
"""Headers of a reference: address of the object, its size in bytes, its SHA-256 in hexadecimal."""

_UNAVAILABLE, _DENIED = "claim_check_unavailable", "claim_check_access_denied"
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 30.0
_SLOW_S = 30.0
_REMEDY = (
    "Make the store available or correct claim.check.store; `check` tests it. The events wait and "
    "stay in order."
)
_DENIED_REMEDY = (
    "Grant the agent the right to write to the store; it then resumes by itself. Restart it after "
    "a change of its own configuration."
)


@dataclass(frozen=True, slots=True)
class ClaimCheckSettings:
    """Limits and places."""

    threshold_bytes: int
    """Key and value of an event that is stored exceed this."""
    spool: Path
    """Directory for the object that is being stored."""
    waits_when_denied: bool = True
    """Whether the agent retries when the store denies access, or raises AccessDeniedError."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """A stored event."""

    reference: Message
    size_bytes: int


@dataclass(frozen=True, slots=True)
class _Request:
    """The event that is being stored; its result is None for a value that cannot be split."""

    batch: ClaimCheckBatch[Any]
    index: int
    result: Future[_Stored | None]
    started_s: float


class ClaimCheck:
    """For the loop's thread."""

    def __init__(
        self,
        address: str,
        open_store: Callable[[], StoppableStore],
        settings: ClaimCheckSettings,
        *,
        metrics: DeliveryMetrics,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`address` is the URL of the store's directory; `clock` gives seconds."""
        self._address = address
        self._open_store = open_store
        self._settings = settings
        self._metrics = metrics
        self._clock = clock
        self._store: StoppableStore | None = None
        self._request: _Request | None = None
        self._pause = RetryPause(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
        self._retry_at_s = clock()
        self._problem: SinkState | None = None
        self._repeated = RateLimitedLog(logger, clock=clock)
        # Held from writing a file of the spool until it is deleted: a cancelled request has the
        # same file as the one that stores its event again.
        self._spool_lock = threading.Lock()

    @property
    def state(self) -> SinkState | None:
        """Why events wait for the store; None while none does."""
        request = self._request
        if self._problem is not None or request is None:
            return self._problem
        waited_s = self._clock() - request.started_s
        if waited_s < _SLOW_S:
            return None
        return SinkState(
            False,
            f"an oversized event waits for {self._address}, which has not answered for "
            f"{waited_s:.0f} s",
            code=_UNAVAILABLE,
            remedy=_REMEDY,
        )

    def watched(self, batch: DeliveryBatch[Any]) -> DeliveryBatch[Any]:
        """The batch, ready to have its oversized events replaced."""
        return ClaimCheckBatch(batch) if len(batch) else batch

    def is_ready(self, numbered: NumberedBatch[Any, Any]) -> bool:
        """Whether the batch can be sent; stores its oversized events. Never waits for the store.
        Raises AccessDeniedError unless the agent waits for access."""
        batch = numbered.batch
        if not isinstance(batch, ClaimCheckBatch):
            return True
        while (index := batch.next_oversized(self._settings.threshold_bytes)) is not None:
            if self._request is None:
                if self._clock() < self._retry_at_s:
                    return False
                self._begin(batch, index)
            if not self._finish():
                return False
        return True

    def forget(self) -> None:
        """The events are read again: the running request has no use."""
        self.close()

    def close(self) -> None:
        """Cancels the running request. A later event opens the store again."""
        request, self._request = self._request, None
        store, self._store = self._store, None
        self._problem = None
        if store is None:
            return
        store.stop()
        if request is not None:
            request.result.add_done_callback(lambda _: store.close())
        else:
            store.close()

    def _begin(self, batch: ClaimCheckBatch[Any], index: int) -> None:
        if self._store is None:
            self._store = self._open_store()
        result: Future[_Stored | None] = Future()
        self._request = _Request(batch, index, result, self._clock())
        arguments = self._store, batch.original(index), result
        # A daemon: an agent that ends does not wait for the store.
        threading.Thread(target=self._run, args=arguments, name="claim-check", daemon=True).start()

    def _run(self, store: StoppableStore, message: Message, result: Future[_Stored | None]) -> None:
        try:
            stored = self._put(store, message)
        except BaseException as error:
            result.set_exception(error)
        else:
            result.set_result(stored)

    def _put(self, store: StoppableStore, message: Message) -> _Stored | None:
        """Stores the members of an event. Raises StoreError, StoreStoppedError, OSError."""
        topic, key, value, headers, partition_hash = message
        parts = split_value(value or b"")
        if parts is None:
            return None
        content = parts.stored
        checksum = hashlib.sha256(content).hexdigest()
        event_id = next((each.hex() for name, each in headers if name == "cdc.id"), "")
        name = f"{event_id}-{checksum}.json".removeprefix("-")
        self._settings.spool.mkdir(parents=True, exist_ok=True)
        file = self._settings.spool / name
        with self._spool_lock:
            try:
                file.write_bytes(content)
                store.put(file)
            finally:
                file.unlink(missing_ok=True)
        added = [
            (URL, f"{self._address.rstrip('/')}/{name}".encode()),
            (SIZE, str(len(content)).encode()),
            (SHA256, checksum.encode()),
        ]
        reference = topic, key, parts.reference, [*headers, *added], partition_hash
        return _Stored(reference, len(content))

    def _finish(self) -> bool:
        """Takes the result of the running request; False while there is none, or after an error."""
        request = self._request
        assert request is not None
        if not request.result.done():
            return False
        self._request = None
        try:
            stored = request.result.result()
        except StoreStoppedError:
            return False
        except (StoreError, OSError) as error:
            self._failed(error)
            return False
        request.batch.settle(request.index, None if stored is None else stored.reference)
        if stored is not None:
            self._metrics.claim_check_events.inc()
            self._metrics.claim_check_bytes.inc(stored.size_bytes)
        self._problem = None
        self._pause.succeeded()
        self._repeated.resolved("store", "the store accepts oversized events again")
        return True

    def _failed(self, error: StoreError | OSError) -> None:
        self._metrics.claim_check_failures.inc()
        is_denied = isinstance(error, StoreError) and error.is_forbidden
        message = f"oversized events wait for the store: {error}"
        if is_denied and not self._settings.waits_when_denied:
            raise AccessDeniedError(message)
        pause_s = self._pause.failed(is_jittered=True)
        self._retry_at_s = self._clock() + pause_s
        self._repeated.log("store", message, pause_s=round(pause_s, 1))
        self._problem = SinkState(
            False,
            message,
            code=_DENIED if is_denied else _UNAVAILABLE,
            remedy=_DENIED_REMEDY if is_denied else _REMEDY,
        )
