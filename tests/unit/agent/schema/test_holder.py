"""`SchemaHolder` over a feeder that the test controls."""

import queue
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from agent.schema.history import SchemaHistory
from agent.schema.holder import ReplacedNodeError, SchemaHolder
from agent.schema.source import KnownSchema, NodeIdentity
from commitlog import Schema
from sidecar.errors import AccessDeniedError, ConfigError, SidecarError, UnavailableError
from tests.support.segments.schema_names import names
from tests.support.servers.processes import DEADLINE_S, wait_until

HOUR_MS = 3_600_000
IDENTITY = NodeIdentity("node-1", "lab")


def schema_of(*tables: str) -> Schema:
    """Create tables of one column each; the table id derives from the letter of the name."""
    return Schema.from_cql(
        "".join(
            f"CREATE TABLE ks.{name} (k text PRIMARY KEY) "
            f"WITH ID = 5a1c395e-b41f-11e5-9f22-{ord(name):012x} AND cdc = true;\n"
            for name in tables
        )
    )


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_FIRST_RETRY_S", "_MISS_INTERVAL_S"):
        monkeypatch.setattr(f"agent.schema.holder.{name}", 0.001)


class SteeredFeeder:
    """Return the configured answer; `fetched` counts the calls."""

    def __init__(self, answer: Schema | Exception) -> None:
        self.answer = answer
        self.identity = IDENTITY
        self.fetched = 0
        self.is_closed = False
        self._changed = threading.Condition()

    @property
    def description(self) -> str:
        return "the test"

    def fetch(self) -> KnownSchema:
        with self._changed:
            self.fetched += 1
            self._changed.notify_all()
            answer = self.answer
        if isinstance(answer, Exception):
            raise answer
        return KnownSchema(answer, self.identity)

    def close(self) -> None:
        self.is_closed = True

    def wait_for_fetches(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.fetched >= count, DEADLINE_S)


@contextmanager
def started(
    feeder: SteeredFeeder,
    interval_ms: int = HOUR_MS,
    history: SchemaHistory | None = None,
    *,
    waits_when_denied: bool = True,
    on_change: Callable[[], None] = lambda: None,
    on_identity: Callable[[NodeIdentity], None] = lambda identity: None,
) -> Iterator[SchemaHolder]:
    with tempfile.TemporaryDirectory() as directory:
        history = history or SchemaHistory(Path(directory))
        holder = SchemaHolder(
            feeder, history, refresh_interval_ms=interval_ms, waits_when_denied=waits_when_denied
        )
        holder.on_change, holder.on_identity = on_change, on_identity
        with closing(holder):
            holder.start()
            yield holder


def refreshed(holder: SchemaHolder) -> None:
    """Refresh until the schema changes, as the pipeline does."""
    for _ in range(10_000):
        if holder.refresh("the test asks"):
            return
        threading.Event().wait(0.05)
    raise AssertionError("the schema did not change")


def test_first_schema_is_fetched_at_start() -> None:
    feeder = SteeredFeeder(schema_of("a"))
    with started(feeder) as holder:
        assert holder.wait_until_known(DEADLINE_S)
        assert (names(holder.current()), holder.identity) == ({"a"}, IDENTITY)
        assert holder.last_error is None
    assert feeder.is_closed


def test_refresh_adds_new_table_and_retains_dropped_table() -> None:
    feeder = SteeredFeeder(schema_of("a"))
    with started(feeder) as holder:
        assert holder.wait_until_known(DEADLINE_S)
        before = holder.current()
        feeder.answer = schema_of("b")
        refreshed(holder)
        assert (names(holder.current()), names(before)) == ({"a", "b"}, {"a"})


def test_refresh_without_changes_returns_same_schema_object() -> None:
    feeder = SteeredFeeder(schema_of("a"))
    with started(feeder, interval_ms=1) as holder:
        assert holder.wait_until_known(DEADLINE_S)
        before = holder.current()
        feeder.wait_for_fetches(20)
        assert holder.current() is before
        assert not holder.refresh("the test asks")


def test_refresh_requests_are_rate_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.schema.holder._MISS_INTERVAL_S", 2 * DEADLINE_S)
    feeder = SteeredFeeder(schema_of("a"))
    with started(feeder) as holder:
        assert holder.wait_until_known(DEADLINE_S)
        for _ in range(1000):
            holder.refresh("the test asks")
        assert feeder.fetched == 1


def test_repeated_refresh_requests_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A segment blocked by an unknown table requests a refresh every second."""
    caplog.set_level("INFO")
    with started(SteeredFeeder(schema_of("a")), interval_ms=1) as holder:
        assert holder.wait_until_known(DEADLINE_S)
        for reason in ("table x is not known", "table x is not known", "table y is not known"):
            holder.refresh(reason)
    assert caplog.messages.count("reading the schema on demand") == 2


@pytest.mark.usefixtures("short_pauses")
@pytest.mark.parametrize(
    "error", [UnavailableError("Cassandra at x does not answer."), AccessDeniedError("no")]
)
def test_error_before_first_schema_is_retried(error: SidecarError) -> None:
    feeder = SteeredFeeder(error)
    with started(feeder, interval_ms=1) as holder:
        feeder.wait_for_fetches(3)
        assert not holder.wait_until_known(0)
        assert (holder.current(), holder.fatal, holder.last_error) == (None, None, str(error))
        feeder.answer = schema_of("a")
        assert holder.wait_until_known(DEADLINE_S)
        assert (names(holder.current()), holder.last_error) == ({"a"}, None)


def test_stored_schema_is_used_while_the_node_is_unavailable(tmp_path: Path) -> None:
    with started(SteeredFeeder(schema_of("a")), history=SchemaHistory(tmp_path)) as holder:
        assert holder.wait_until_known(DEADLINE_S)
    feeder = SteeredFeeder(UnavailableError("away"))
    with started(feeder, history=SchemaHistory(tmp_path)) as holder:
        # The holder queries the node first, which may have been replaced.
        assert holder.wait_until_known(DEADLINE_S)
        assert (names(holder.current()), holder.identity) == ({"a"}, IDENTITY)


def test_access_denied_before_first_schema_is_fatal_if_configured() -> None:
    feeder = SteeredFeeder(AccessDeniedError("no"))
    with started(feeder, waits_when_denied=False) as holder:
        with pytest.raises(AccessDeniedError):
            holder.wait_until_known(DEADLINE_S)
        assert isinstance(holder.fatal, AccessDeniedError)
        assert not holder.refresh("the test asks")


@pytest.mark.usefixtures("short_pauses")
def test_access_denied_after_first_schema_is_retried() -> None:
    feeder = SteeredFeeder(schema_of("a"))
    with started(feeder, interval_ms=1) as holder:
        assert holder.wait_until_known(DEADLINE_S)
        feeder.answer = AccessDeniedError("no")
        feeder.wait_for_fetches(feeder.fetched + 3)
        assert holder.fatal is None
        assert names(holder.current()) == {"a"}
        feeder.answer = schema_of("b")
        refreshed(holder)
        assert names(holder.current()) == {"a", "b"}


def test_only_a_changed_schema_notifies_the_listener() -> None:
    told = threading.Semaphore(0)
    feeder = SteeredFeeder(schema_of("a"))
    with started(feeder, 1, on_change=told.release):
        assert told.acquire(timeout=DEADLINE_S)
        feeder.wait_for_fetches(feeder.fetched + 5)
        feeder.answer = schema_of("b")
        assert told.acquire(timeout=DEADLINE_S)
        assert not told.acquire(blocking=False)


def test_node_identity_is_reported_once_per_change() -> None:
    reported: queue.SimpleQueue[NodeIdentity] = queue.SimpleQueue()
    feeder = SteeredFeeder(schema_of("a"))
    feeder.identity = NodeIdentity("node-1", "lab", "dc1", "r1")
    with started(feeder, 1, on_identity=reported.put) as holder:
        assert holder.wait_until_known(DEADLINE_S)
        feeder.wait_for_fetches(feeder.fetched + 3)
        feeder.identity = NodeIdentity("node-1", "lab", "dc1", "r2")
        racks = [reported.get(timeout=DEADLINE_S).rack for _ in range(2)]
        feeder.wait_for_fetches(feeder.fetched + 2)
        assert (racks, reported.empty(), holder.fatal) == (["r1", "r2"], True, None)


def test_schema_history_is_stored_once_path_is_writable(tmp_path: Path) -> None:
    """Offsets may already have passed the schema's position in the log."""
    history = SchemaHistory(tmp_path)
    # A directory of that name prevents writing the file.
    history.path.mkdir()
    feeder = SteeredFeeder(schema_of("a"))
    with started(feeder, interval_ms=1, history=history) as holder:
        assert holder.wait_until_known(DEADLINE_S)
        feeder.wait_for_fetches(feeder.fetched + 2)
        history.path.rmdir()
        feeder.wait_for_fetches(feeder.fetched + 2)
    known = SchemaHistory(tmp_path).load()
    assert known is not None
    assert names(known.schema) == {"a"}


def test_replaced_node_is_a_fatal_error(tmp_path: Path) -> None:
    """The agent delivers as node-1; then another node answers at the address."""
    feeder = SteeredFeeder(schema_of("a"))
    history = SchemaHistory(tmp_path)
    with started(feeder, interval_ms=1, history=history) as holder:
        assert holder.wait_until_known(DEADLINE_S)
        feeder.identity = NodeIdentity("node-2", "lab")
        wait_until(lambda: holder.fatal is not None, "the refusal")
        with pytest.raises(ConfigError, match=r"node-2 .* node-1 .*offsets reset --snapshots"):
            holder.wait_until_known(DEADLINE_S)
        assert isinstance(holder.fatal, ReplacedNodeError)
    known = history.load()
    assert known is not None
    assert known.identity == IDENTITY


def test_a_stored_schema_does_not_hide_a_replaced_node(tmp_path: Path) -> None:
    """The node was replaced while the agent was stopped."""
    history = SchemaHistory(tmp_path)
    history.save(KnownSchema(schema_of("b"), NodeIdentity("node-0", "lab")))
    with started(SteeredFeeder(schema_of("a")), history=history) as holder:
        refreshed(holder)
        assert (names(holder.current()), holder.identity) == ({"a"}, IDENTITY)
