"""Published tables that were truncated or dropped. No event removes their rows from the targets.
Pure."""

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime

from agent.node.drops import Drop
from agent.node.truncations import Truncation
from sidecar.check.finding import Finding, first_names, warning

_VERSION_STORE = (
    "for a version store of Spark, with the properties of `reconcile`: "
    "python -m spark_jobs.reconcile.truncate --config FILE"
)


def check_truncations(truncated: Mapping[str, Truncation]) -> Iterator[Finding]:
    """One finding for all unacknowledged truncations, by table."""
    if not truncated:
        return
    texts = [f"{name} ({_text(each)})" for name, each in truncated.items()]
    # Each with its own time: a later one would delete rows that were written since.
    first, *others = (
        f"--set table={name} --set at.us={each.at_ms * 1000 + 999}"
        for name, each in truncated.items()
    )
    commands = f"{_VERSION_STORE} {first}"
    if others:
        commands += f", and the same with {', with '.join(others)}"
    yield warning(
        "truncations",
        f"Tables were truncated, which has no event: {first_names(texts)}. Their rows stay in "
        "topics and targets.",
        f"Delete them in each target; {commands}. Then run "
        f"`agent truncations acknowledge {' '.join(truncated)}` on each node.",
        code="table_truncated",
    )


def check_drops(dropped: Mapping[str, Drop], present: Collection[str]) -> Iterator[Finding]:
    """One finding for all unacknowledged drops, by table; `present` has the names of tables."""
    if not dropped:
        return
    created_again = sorted(dropped.keys() & set(present))
    gone = sorted(dropped.keys() - set(present))
    remedies = []
    if gone:
        # A table that is gone has no later rows, so the latest time fits all.
        last = max((dropped[name] for name in gone), key=lambda each: each.noticed_ms)
        command = f"--set table={last.name} --set at.us={last.noticed_ms * 1000 + 999}"
        remedies.append(
            f"Delete their rows in each target; {_VERSION_STORE} {command}, for each table."
        )
    if created_again:
        remedies.append(
            f"In each target, delete the rows of the old {first_names(created_again)}; version "
            "stores of Spark hold the old and the new table apart."
        )
    yield warning(
        "drops",
        f"Tables were dropped, which has no event: {first_names(sorted(dropped))}. Their rows stay "
        "in topics and targets.",
        f"{' '.join(remedies)} Then run `agent truncations acknowledge "
        f"{' '.join(sorted(dropped))}` on each node.",
        code="table_dropped",
    )


def _text(truncation: Truncation) -> str:
    at = datetime.fromtimestamp(truncation.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return f"at {at}, segment {truncation.segment_id}, position {truncation.position}"
