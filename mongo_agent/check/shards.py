"""Check that every shard has a task, with `mongodb.connection.mode=replica_set`."""

from collections.abc import Iterator
from dataclasses import replace

from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.shard_assignment import assignment
from sidecar.check.finding import Finding, fault, first_names, ok, warning
from sidecar.errors import SidecarError

_ANSWER_MS = 10_000


def check_shards(config: MongoConfig) -> Iterator[Finding]:
    """Read the list of shards again, from the addresses of the configuration."""
    properties, own = config.properties, config.shard
    if properties.connection_mode != "replica_set":
        return
    listing = replace(config, client=config.seeds or config.client)
    try:
        shards = assignment(listing, _ANSWER_MS).shards
    except SidecarError as error:
        remedy = "Start a mongos or config server, or correct the addresses."
        yield warning("shards", f"They cannot be listed: {error}", remedy, code="shards_not_listed")
        return
    names = [each.name for each in shards]
    missing = names[properties.tasks_max :]
    if missing:
        yield fault(
            "shards",
            f"{len(missing)} of {len(names)} shards have no task: {first_names(missing)}. Their "
            "changes are not captured.",
            f"Set `tasks.max={len(names)}` for all tasks, `capture.start.op.time` to a time before "
            "the first start of the tasks, and start the missing ones.",
            code="shard_without_task",
        )
    if own is not None and own.name not in names:
        yield fault(
            "shards",
            f"The shard {own.name} was removed from the cluster. The agent still delivers its "
            "remaining changes.",
            "Restart this task when the stream has no lag; it then reads the shard of its number, "
            "or waits for one.",
            code="shard_removed",
        )
    elif shards and not missing:
        task = "waits for a shard" if own is None else f"reads {own.name}"
        yield ok("shards", f"Task {properties.task_id} {task}; all {len(names)} have a task.")
