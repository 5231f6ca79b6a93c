"""Checks of the published tables: lists, names of topics, rights, truncations and drops."""

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
    """Captured and published tables, and list entries without a match."""
    captured, published = publication.captured, publication.published
    if publication.counters:
        shown = first_names(publication.counters)
        yield ok("tables", f"Skipped counter tables (`counter.events=skip`): {shown}.")
    if publication.opaque:
        yield fault(
            "tables",
            "The types of these columns take megabytes where each user type is written out, or are "
            "nested more than 64 levels deep. The agent publishes their inner values as bytes: "
            f"{first_names(publication.opaque)}.",
            "Use user types that contain fewer others.",
            code="column_types_too_large",
        )
    if publication.suffixed:
        yield warning(
            "tables",
            "The names of these columns have a suffix in events, because older columns have the "
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
    "Set topic.delimiter=-, with which the topics of tables differ, or exclude all but one of the "
    "tables (table.exclude.list). If a property names the topic, choose another name."
)


def check_topic_names(probe: AgentProbe) -> Iterator[Finding]:
    """Whether Kafka accepts every name. The broker only adds the names of its topics."""
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
    """Whether the tables that snapshots copy can be read, with the values of masked columns."""
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
    """One finding for all unacknowledged drops, by table; `present` lists the names of tables."""
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
