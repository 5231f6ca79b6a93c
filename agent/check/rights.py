"""Whether the agent's role may read the tables that snapshots copy."""

from collections.abc import Iterable, Iterator, Mapping

from agent.config.loader import AgentConfig
from agent.node.rights import grants
from commitlog.masking import Rights, mask_problem
from sidecar.check.finding import Finding, first_names, ok, warning


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
