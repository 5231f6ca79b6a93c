"""Conditions of what is published. Pure."""

from collections.abc import Iterator

from agent.check.publication import Publication, joined_names
from sidecar.status import Condition, State

_COMPONENT = "schema"


def publication_conditions(publication: Publication | None) -> Iterator[Condition]:
    """Nothing is published, and entries of lists that match nothing. None: not known yet."""
    if publication is None:
        return
    captured = publication.captured
    if not captured:
        yield Condition(
            "no_table_captured",
            State.DEGRADED,
            _COMPONENT,
            "No table of the node is captured, so nothing is published.",
            "ALTER TABLE keyspace.name WITH cdc = true;",
        )
    elif not publication.published:
        yield Condition(
            "no_table_published",
            State.DEGRADED,
            _COMPONENT,
            f"None of the {len(captured)} captured tables passes the table lists, so every segment "
            f"is deleted without an event: {joined_names(captured)}.",
            "Correct table.include.list or table.exclude.list.",
        )
    unmatched = publication.unmatched
    if unmatched:
        told = "; ".join(f"{each.name}: {each.entry}: {each.reason}" for each in unmatched[:5])
        more = f"; and {len(unmatched) - 5} more" if len(unmatched) > 5 else ""
        names = ", ".join(dict.fromkeys(each.name for each in unmatched))
        yield Condition(
            "list_entry_unmatched",
            State.DEGRADED,
            _COMPONENT,
            f"{told}{more}.",
            f"Correct or remove it in {names}.",
        )
