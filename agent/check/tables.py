"""Checks of the published tables: lists, topic names, permissions, truncations and drops."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from agent.check.probe import AgentProbe
from agent.check.publication import Publication, is_shortened
from agent.config.loader import AgentConfig
from agent.node.settings import grants
from agent.node.truncations import Drop, Truncation
from commitlog.masking import Rights, mask_problem
from sidecar.check.check import Finding, fault, first_names, ok, warning
from sidecar.check.topic_names import check_collisions
from sidecar.properties.types import LONGEST_TOPIC


def check_tables(publication: Publication) -> Iterator[Finding]:
    captured, published = publication.captured, publication.published
    if publication.counters:
        shown = first_names(publication.counters)
        yield ok("tables", f"Skipped counter tables (`counter.events=skip`): {shown}.")
    if publication.opaque:
        yield fault(
            "tables",
            "The types of these columns take megabytes with all user types written out, or are "
            "nested more than 64 levels deep. The agent publishes their inner values as bytes: "
            f"{first_names(publication.opaque)}.",
            "Use user types that contain fewer other types.",
            code="column_types_too_large",
        )
    if publication.suffixed:
        yield warning(
            "tables",
            "The names of these columns get a suffix in events, because older columns use the "
            f"names: {first_names(publication.suffixed)}.",
            "Read the fields by these names. With field.name.adjustment.mode=avro_unicode and new "
            "topics, no column needs a suffix.",
            code="column_name_suffixed",
        )
    if not captured:
        yield fault(
            "tables",
            "No table has cdc = true, so the agent publishes nothing.",
            "ALTER TABLE keyspace.name WITH cdc = true;",
            code="no_table_captured",
        )
    elif not published:
        yield fault(
            "tables",
            f"The table lists exclude all {len(captured)} captured tables, so the agent deletes "
            f"segments without an event: {first_names(captured)}.",
            "Correct table.include.list or table.exclude.list.",
            code="no_table_published",
        )
    else:
        shown = first_names(published)
        yield ok(
            "tables", f"Published: {len(published)} of {len(captured)} captured tables: {shown}."
        )
    unmatched = publication.unmatched
    if unmatched:
        entries = "; ".join(f"{each.name}: {each.entry}: {each.reason}" for each in unmatched[:5])
        more = f"; and {len(unmatched) - 5} more" if len(unmatched) > 5 else ""
        names = ", ".join(dict.fromkeys(each.name for each in unmatched))
        yield fault(
            "tables",
            f"{entries}{more}.",
            f"Correct or remove the entries in {names}.",
            code="list_entry_unmatched",
        )


_APART = (
    "Set topic.delimiter=-, which makes the topics distinct, or exclude all but one of the tables "
    "(table.exclude.list). If a property sets the topic, choose a different name."
)


def check_topic_names(probe: AgentProbe) -> Iterator[Finding]:
    """Checks whether Kafka accepts every topic name. The broker only reports existing topics."""
    properties = probe.config.properties
    if properties.sink != "kafka":
        return
    uses = probe.topic_uses
    yield from check_collisions(uses, probe.broker().topics, _APART)
    publication = probe.publication
    tables = () if publication is None else publication.published
    shortened = [use for use in uses if use.source in tables]
    shortened = [use for use in shortened if is_shortened(properties, use.source)]
    if shortened:
        yield warning(
            "topics",
            f"The names of {len(shortened)} topics would have more than {LONGEST_TOPIC} "
            "characters, so they end with a hash of the table: "
            f"{first_names([str(use) for use in shortened])}.",
            "Shorten topic.prefix if you want whole names, or exclude the tables "
            "(table.exclude.list).",
            code="topic_name_shortened",
        )


def check_snapshot_rights(
    config: AgentConfig,
    rights: Rights | None,
    published: Iterable[str],
    masked: Mapping[str, tuple[str, ...]],
) -> Iterator[Finding]:
    """Checks whether the agent's role can read the tables, and the values of masked columns."""
    role = config.properties.cassandra_username
    if rights is None or config.properties.snapshot_mode == "never":
        return
    tables = list(published)
    for table in tables:
        problem = mask_problem(table, masked.get(table, ()), rights, role)
        if problem:
            message, _, statement = problem.partition(" As a superuser: ")
            yield warning(
                "rights",
                f"{message} Snapshots reject the table.",
                f"As a superuser: {statement} Or set snapshot.mode=never.",
                code="snapshot_columns_masked",
            )
    if role is None:
        return
    denied = [table for table in tables if not rights.can_read(table)]
    if not denied:
        if tables:
            yield ok("rights", f"The role {role} can read the {len(tables)} published tables.")
        return
    yield warning(
        "rights",
        f"The role {role} cannot read {len(denied)} of {len(tables)} published tables, so "
        f"snapshots of them fail: {first_names(denied)}.",
        f"As a superuser: {grants(role, denied)} Or set snapshot.mode=never.",
        code="snapshot_rights_missing",
    )


_VERSION_STORE = (
    "for a Spark version store, with the properties of `reconcile`: "
    "python -m spark_jobs.reconcile.truncate --config FILE"
)


def check_truncations(truncated: Mapping[str, Truncation]) -> Iterator[Finding]:
    """Yields one finding for all unacknowledged truncations. `truncated`: truncations by table."""
    if not truncated:
        return
    texts = [f"{name} ({_text(each)})" for name, each in truncated.items()]
    # Each table needs its own time: a later time would delete rows written since the truncation.
    first, *others = (
        f"--set table={name} --set at.us={each.at_ms * 1000 + 999}"
        for name, each in truncated.items()
    )
    commands = f"{_VERSION_STORE} {first}"
    if others:
        commands += f", and the same command with {', with '.join(others)}"
    yield warning(
        "truncations",
        f"Tables were truncated, which sends no event: {first_names(texts)}. Their rows stay in "
        "topics and targets.",
        f"Delete them in each target; {commands}. Then run "
        f"`agent truncations acknowledge {' '.join(truncated)}` on each node.",
        code="table_truncated",
    )


def check_drops(dropped: Mapping[str, Drop], present: Collection[str]) -> Iterator[Finding]:
    """Yields one finding for all unacknowledged drops. `present`: names of existing tables."""
    if not dropped:
        return
    created_again = sorted(dropped.keys() & set(present))
    gone = sorted(dropped.keys() - set(present))
    remedies = []
    if gone:
        # Dropped tables have no later rows, so the latest time suits all of them.
        last = max((dropped[name] for name in gone), key=lambda each: each.noticed_ms)
        command = f"--set table={last.name} --set at.us={last.noticed_ms * 1000 + 999}"
        remedies.append(
            f"Delete their rows in each target; {_VERSION_STORE} {command}, for each table."
        )
    if created_again:
        remedies.append(
            f"In each target, delete the rows of the old {first_names(created_again)}; Spark "
            "version stores keep the old and the new table separate."
        )
    yield warning(
        "drops",
        f"Tables were dropped, which sends no event: {first_names(sorted(dropped))}. Their rows "
        "stay in topics and targets.",
        f"{' '.join(remedies)} Then run `agent truncations acknowledge "
        f"{' '.join(sorted(dropped))}` on each node.",
        code="table_dropped",
    )


def _text(truncation: Truncation) -> str:
    at = datetime.fromtimestamp(truncation.at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return f"at {at}, segment {truncation.segment_id}, position {truncation.position}"
