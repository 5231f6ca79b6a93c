"""Reports of nodes for tests of watermarks."""

from collections.abc import Iterable

from spark_jobs.watermarks.report import Hints, NodeReport, Obstacle, ReplicatedRange, Span
from spark_jobs.watermarks.table_watermark import MAX_TOKEN, MIN_TOKEN

TABLE = "ks.t"
WHOLE = (ReplicatedRange(MIN_TOKEN, MAX_TOKEN, 0),)


def report(
    node: str,
    until_ms: int | None,
    *,
    since_ms: int = 0,
    gaps: Iterable[tuple[int, int]] = (),
    ranges: tuple[ReplicatedRange, ...] = WHOLE,
    replicas: int = 3,
    data_center: str = "dc1",
    obstacles: Iterable[tuple[str, str]] = (),
    ts_ms: int | None = None,
    table_since_ms: int = 0,
    hints: tuple[Hints, ...] | None = (),
) -> NodeReport:
    """The report of a replica, by default of the whole ring."""
    return NodeReport(
        node_id=node,
        ts_ms=(until_ms or 0) if ts_ms is None else ts_ms,
        interval_ms=10,
        data_center=data_center,
        topic_prefix="shop",
        complete=None if until_ms is None else Span(since_ms, until_ms),
        gaps=tuple(Span(since, until) for since, until in gaps),
        obstacles=tuple(Obstacle(code, message) for code, message in obstacles),
        hints=hints,
        tables={TABLE: table_since_ms},
        options={"ks": {"class": "SimpleStrategy", "replication_factor": str(replicas)}},
        ranges={"ks": ranges},
    )
