"""Conditions of published tables. Pure."""

from collections.abc import Iterator

from agent.check.publication import Publication
from sidecar.check.finding import first_names
from sidecar.health import Condition, State

_COMPONENT = "schema"


def publication_conditions(publication: Publication | None) -> Iterator[Condition]:
    """No published table, and list entries without a match; `publication` is None while unknown."""
    if publication is None:
        return
    captured = publication.captured
    if not captured:
        yield Condition(
            "no_table_captured",
            State.DEGRADED,
            _COMPONENT,
            "No table has cdc = true, so the agent publishes nothing.",
            "ALTER TABLE keyspace.name WITH cdc = true;",
        )
    elif not publication.published:
        yield Condition(
            "no_table_published",
            State.DEGRADED,
            _COMPONENT,
            f"The table lists exclude all {len(captured)} captured tables, so the agent deletes "
            f"segments without an event: {first_names(captured)}.",
            "Correct table.include.list or table.exclude.list.",
        )
    unmatched = publication.unmatched
    if unmatched:
        entries = "; ".join(f"{each.name}: {each.entry}: {each.reason}" for each in unmatched[:5])
        more = f"; and {len(unmatched) - 5} more" if len(unmatched) > 5 else ""
        names = ", ".join(dict.fromkeys(each.name for each in unmatched))
        yield Condition(
            "list_entry_unmatched",
            State.DEGRADED,
            _COMPONENT,
            f"{entries}{more}.",
            f"Correct or remove the entries in {names}.",
        )
