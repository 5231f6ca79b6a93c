"""The page in every state, served from values without an agent."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from cdc_extension import __version__
from sidecar.health.condition import Condition, State
from sidecar.history.recorder import history_pages
from sidecar.http.server import HttpServer
from sidecar.instance import Instance
from sidecar.logs import RecentWarnings
from sidecar.page.pages import status_pages
from sidecar.page.summary import (
    Counts,
    NextCommand,
    ProgressBar,
    Quarantined,
    QuarantinedItem,
    SnapshotLine,
    Stat,
    Summary,
)
from tests.support.agents.fake_status import HOST, FakeStatus

_MINUTES = 1440
_GIB = 1 << 30
_STATS = (
    Stat("Lag", 3.2, "seconds"),
    Stat("Unacknowledged events", 1234, "events", 100_000, "the oldest for 2.0 s"),
    Stat("cdc_raw", 2.5 * _GIB, "bytes", 4.0 * _GIB, "full in 3.0 h at this growth"),
)
_BARS = (
    ProgressBar("CommitLog-7-1.log", "drained", 100, 100, 100, 100, "", "bytes"),
    ProgressBar("CommitLog-7-2.log", "final", 100, 30, 60, 100, "the node has finished it"),
    ProgressBar("CommitLog-7-3.log", "reading", 100, 0, 5, 20, "", "bytes"),
)
_COUNTS = (
    Counts("shop.orders", {"inserts": 1_234_567, "updates": 98, "deletes": 3, "range deletes": 0}),
    Counts("shop.a_table_with_a_long_name_indeed", {"inserts": 5, "snapshot reads": 1}),
)
_NAME = "CommitLog-7-1699000000001.log"
_EMPTY = Quarantined("The quarantine is empty.", 0, limit_bytes=_GIB)
_OPTION = "--config /etc/cdc-sidecar/agent.properties"
_FULL = Quarantined(
    "2 items: 3 undelivered ranges and 1 dead letter.",
    345_678,
    tuple(
        QuarantinedItem(
            name,
            ("the checksum of a record does not match",),
            "1 undelivered range",
            (datetime.now(UTC) - timedelta(hours=hours)).isoformat(),
            (
                NextCommand("Read it again", f"agent quarantine retry {name} {_OPTION}"),
                NextCommand("Delete it", f"agent quarantine discard {name} {_OPTION}"),
            ),
        )
        for name, hours in ((_NAME, 26), ("CommitLog-7-1699000000002.log", 3))
    ),
    7,
    (NextCommand("List all causes", f"agent quarantine list {_OPTION}"),),
    limit_bytes=_GIB,
    by_reason={"damage": 2, "rejected_event": 1},
)


_QUARANTINED = Condition(
    "segment_quarantined",
    State.DEGRADED,
    "quarantine",
    f"2 segments have undelivered changes (3 ranges): {_NAME}, CommitLog-7-1699000000002.log.",
    "List causes with `agent quarantine list`. Correct them, then run `agent quarantine retry "
    f"{_NAME}` or `agent quarantine retry --all`.",
)


def _condition(code: str, state: State, detail: str = "") -> Condition:
    remedy = "Start the broker; `agent check` verifies it. Then run `agent quarantine list`."
    return Condition(code, state, "sink", f"The cause {code} lasts", remedy, detail)


_HEALTHY = Summary(
    "ok",
    stats=_STATS,
    progress_title="Segments in cdc_raw, the oldest first",
    progress=_BARS,
    counts_title="Events by table, since the start",
    counts=_COUNTS,
    dead_letters=_EMPTY,
)


@dataclass(frozen=True)
class PageState:
    summary: Summary
    conditions: tuple[Condition, ...] = ()
    has_history: bool = True


STATES: Mapping[str, PageState] = {
    "empty": PageState(
        Summary("starting"), (_condition("starting", State.FAILING),), has_history=False
    ),
    "healthy": PageState(_HEALTHY),
    "late": PageState(replace(_HEALTHY, state="late", notes=("3 older segments are not shown.",))),
    "degraded": PageState(
        replace(_HEALTHY, state="degraded"), (_condition("transfer_unavailable", State.DEGRADED),)
    ),
    "quarantine": PageState(
        replace(_HEALTHY, state="degraded", dead_letters=_FULL), (_QUARANTINED,)
    ),
    "snapshot": PageState(
        replace(
            _HEALTHY,
            snapshots=(
                SnapshotLine("shop.orders", "copying", 81_920, 0.0785, 1_043_000),
                SnapshotLine("shop.customers", "waiting", 0, 0.0),
            ),
        )
    ),
    "blocked": PageState(
        replace(
            _HEALTHY,
            state="failing",
            progress=(ProgressBar("CommitLog-7-1.log", "blocked", 9, 1, 2, 9, "", "bytes"), *_BARS),
        ),
        (
            _condition("segment_blocked", State.FAILING, "Connect to ipv4#127.0.0.1:9 failed"),
            _condition("cdc_raw_nearly_full", State.DEGRADED),
        ),
    ),
}


class _Status(FakeStatus):
    def instance(self) -> Instance:
        node = "0c5e9d2a-6a4b-4f0e-9d3c-2a7b8e1f0a44"
        return Instance(
            "cdc-sidecar-cassandra", __version__, "cassandra-3", "shop", "shop", node, "dc1", "r2"
        )

    def about(self) -> Mapping[str, object]:
        return {
            "instance": self.instance().document(),
            "uptime_s": 275_000.0,
            "destination": "kafka kafka-1:9092,kafka-2:9092",
        }


@dataclass
class Served:
    """Serves the page in one state after the other."""

    url: str
    status: FakeStatus = field(default_factory=_Status)
    name: str = "empty"

    def show(self, name: str) -> None:
        self.name = name
        self.status.conditions = list(STATES[name].conditions)

    def history(self) -> Mapping[str, object]:
        now_s = int(time.time()) // 60 * 60
        columns = ["epoch_s", "lag_s", "events_per_s", "cdc_raw_bytes", "cdc_raw_limit_bytes"]
        samples = []
        for at in range(_MINUTES if STATES[self.name].has_history else 0):
            # The agent was down for half an hour.
            is_down = 700 <= at < 730
            wave = math.sin(at / 90) + 1.1
            values = [wave * 30, wave * 4000, wave * _GIB, 4 * _GIB]
            row = [None] * 4 if is_down else values
            samples.append([now_s - 60 * (_MINUTES - 1 - at), *row])
        return {"interval_s": 60, "columns": columns, "samples": samples}


@contextmanager
def served() -> Iterator[Served]:
    """The page on a free port."""
    made = Served("")
    warnings = RecentWarnings()
    pages = [
        status_pages(made.status, lambda health: STATES[made.name].summary, warnings),
        history_pages(made.history),
    ]
    with HttpServer(made.status, HOST, 0, pages) as server:
        made.url = f"http://{HOST}:{server.port}/"
        made.show("empty")
        yield made
