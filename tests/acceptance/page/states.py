"""The page in every state, served from values without an agent."""

import itertools
import logging
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
from sidecar.properties.show import EffectiveProperty
from tests.support.agents.fake_status import HOST, FakeStatus

_MINUTES = 1440
_MIB, _GIB = 1 << 20, 1 << 30
_STATS = (
    Stat("Lag", 3.2, "seconds"),
    Stat("Unacknowledged events", 1234, "events", 100_000, "the oldest for 2.0 s"),
    Stat("Not delivered", 33 * _MIB, "bytes", note="synced, not acknowledged"),
    Stat("cdc_raw", 2.5 * _GIB, "bytes", 4.0 * _GIB, "full in 3.0 h at this growth; all files"),
)


def _segment(
    number: int, state: str, done: int, read: int, there: int, note: str = ""
) -> ProgressBar:
    name, sizes = f"CommitLog-7-169900000000{number}.log", (done * _MIB, read * _MIB, there * _MIB)
    return ProgressBar(name, state, 32 * _MIB, *sizes, note, "bytes")


_BARS = (
    _segment(6, "drained", 32, 32, 32),
    _segment(7, "partly_read", 9, 19, 32, "the node has finished it"),
    _segment(8, "unread", 0, 0, 10),
    replace(_segment(9, "empty", 0, 0, 0, "preallocated"), size=0, unit=None),
)
_BARS_WITHOUT_BROKER = (
    _segment(5, "blocked", 1, 2, 32),
    _segment(6, "unacknowledged", 0, 32, 32),
    *_BARS[2:],
)
_COUNTS = (
    Counts("shop.orders", {"inserts": 1_234_567, "updates": 98, "deletes": 3}, "shop.shop.orders"),
    Counts("shop.customers_by_" + 4 * "region_", {"snapshot reads": 5}, "shop.shop.customers_by"),
)
_NAME = "CommitLog-7-1699000000001.log"
_EMPTY = Quarantined("The quarantine is empty.", 0, limit_bytes=_GIB)
_OPTION = "--config /etc/cdc-sidecar/agent.properties"
_FULL = Quarantined(
    "9 items: 10 undelivered ranges and 1 dead letter.",
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
    f"9 segments have undelivered changes (10 ranges): {_NAME} and 8 more.",
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


_PANELS = "now history timeline counts components trouble configuration kept"


@dataclass(frozen=True)
class PageState:
    """The visible `panels` have this order; the page contains `texts`."""

    summary: Summary
    conditions: tuple[Condition, ...] = ()
    panels: str = _PANELS
    texts: tuple[str, ...] = ()
    history_minutes: int = _MINUTES


STATES: Mapping[str, PageState] = {
    "empty": PageState(
        Summary("starting"),
        (_condition("starting", State.FAILING),),
        "conditions components trouble configuration",
        history_minutes=0,
    ),
    "healthy": PageState(_HEALTHY, texts=("The quarantine is empty.", "Last 24 hours")),
    "late, first minutes": PageState(
        replace(_HEALTHY, state="late", notes=("3 older segments are not shown.",)),
        texts=("Last 15 minutes",),
        history_minutes=4,
    ),
    "broker down": PageState(
        replace(_HEALTHY, state="failing", progress=_BARS_WITHOUT_BROKER),
        (
            _condition("sink_unavailable", State.FAILING, "Connect to ipv4#127.0.0.1:9 failed"),
            _condition("cdc_raw_nearly_full", State.DEGRADED),
        ),
        f"conditions {_PANELS}",
        ("unacknowledged\n0 B of 32.0 MiB acknowledged", "no changes\npreallocated"),
    ),
    "quarantine": PageState(
        replace(_HEALTHY, state="degraded", dead_letters=_FULL),
        (_QUARANTINED,),
        f"conditions kept {_PANELS.removesuffix(' kept')}",
    ),
    "snapshot": PageState(
        replace(_HEALTHY, snapshots=(SnapshotLine("shop.orders", "copying", 81_920, 0.08, 10**6),)),
        panels=_PANELS.replace("counts", "snapshots counts"),
        texts=("8.0%, 81,920 of about 1,000,000 rows",),
    ),
}
_PROPERTIES = (EffectiveProperty("cassandra.password", "********", "agent.properties:9"),)


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
        for age in reversed(range(STATES[self.name].history_minutes)):
            # The agent was down for half an hour.
            is_down = 710 < age <= 740
            wave = 1 + math.sin(age / 90) / 2
            values = [wave * 3.2, wave * 4000, wave * 2.5 * _GIB, 4 * _GIB]
            samples.append([now_s - 60 * age, *([None] * 4 if is_down else values)])
        return {"interval_s": 60, "columns": columns, "samples": samples}


@contextmanager
def served() -> Iterator[Served]:
    """The page on a free port."""
    made = Served("")
    warnings = RecentWarnings()
    pages = [
        status_pages(made.status, lambda health: STATES[made.name].summary, warnings, _PROPERTIES),
        # Never cached.
        history_pages(made.history, itertools.count(0, 2).__next__),
    ]
    with warnings, HttpServer(made.status, HOST, 0, pages) as server:
        logging.getLogger("sidecar").warning("A range of a segment cannot be read.")
        logging.getLogger("urllib3").warning("Retrying (Retry(total=2, connect=None))")
        made.url = f"http://{HOST}:{server.port}/"
        made.show("empty")
        yield made
