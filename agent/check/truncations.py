"""Published tables that were truncated. No event removes their rows from the targets. Pure."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from agent.node.truncations import Truncation
from sidecar.check.finding import Finding, first_names, warning


def check_truncations(truncated: Mapping[str, Truncation]) -> Iterator[Finding]:
    """One finding for all unacknowledged truncations, by table."""
    if not truncated:
        return
    texts = [f"{name} ({_text(each)})" for name, each in truncated.items()]
    name, last = max(truncated.items(), key=lambda item: item[1].at_ms)
    command = f"--set table={name} --set at.us={last.at_ms * 1000 + 999}"
    yield warning(
        "truncations",
        f"Tables were truncated, which has no event: {first_names(texts)}. Their rows stay in "
        "topics and targets.",
        f"Delete them in each target; for a version store of Spark: python -m "
        f"spark_jobs.reconcile.truncate {command}, for each table. Then run `agent truncations "
        f"acknowledge {' '.join(truncated)}` on each node.",
        code="table_truncated",
    )


def _text(truncation: Truncation) -> str:
    at = datetime.fromtimestamp(truncation.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return f"at {at}, segment {truncation.segment_id}, position {truncation.position}"
