"""Checks of the MongoDB server, the agent's privileges and the streams."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pymongo
from pymongo.errors import PyMongoError

from mongo_agent.capture.namespaces import Scope
from mongo_agent.change_stream.cursor import StreamCursor, StreamFailedError, StreamSource
from mongo_agent.change_stream.position import Opening
from mongo_agent.check.privileges import (
    MissingPrivilege,
    grant_commands,
    missing_privileges,
    required_privileges,
)
from mongo_agent.check.probe import ANSWER_S, MongoProbe
from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.shard_assignment import assign_shard
from mongo_agent.server.commands import Client, decode_replies, run_command
from mongo_agent.server.deployment import Deployment, deployment_error
from mongo_agent.server.errors import error_text
from mongo_agent.server.releases import release_text
from sidecar.check.check import Finding, fault, first_names, ok, warning
from sidecar.errors import AccessDeniedError, SidecarError, UnavailableError


def check_answer(probe: MongoProbe) -> Iterator[Finding]:
    """Report the deployment, or why the server does not answer."""
    answer = probe.server()
    match answer:
        case Deployment():
            kind = "mongos" if answer.is_sharded else f"replica set {answer.name}"
            if answer.state != "primary":
                kind += f" ({answer.state})"
            release, address = release_text(answer.version), probe.config.client.address
            found = f"MongoDB {release} answers at {address}: {kind}."
            yield ok("MongoDB", found, code="server_answers")
        case UnavailableError():
            remedy = (
                "Start it, or correct mongodb.hosts or mongodb.connection.string. The agent tries "
                "`connect.max.attempts` times."
            )
            yield fault("MongoDB", str(answer), remedy, code="server_unavailable")
        case AccessDeniedError():
            remedy = (
                "Correct mongodb.user, mongodb.password and mongodb.authsource. Until then the "
                "agent exits with code 4."
            )
            yield fault("MongoDB", str(answer), remedy, code="server_access_denied")
        case _:
            remedy = f"Fix this error. Until then the agent exits with code {answer.exit_code}."
            yield fault("MongoDB", str(answer), remedy, code="server_unusable")


def check_deployment(config: MongoConfig, deployment: Deployment) -> Iterator[Finding]:
    message = deployment_error(deployment, config.accepted_deployment, config.client.address)
    if message is not None:
        remedy = "Fix this error. Until then the agent exits with code 2."
        yield fault("deployment", message, remedy, code="deployment_unusable")


def check_privileges(probe: MongoProbe, deployment: Deployment) -> Iterator[Finding]:
    """Report missing privileges and the commands that grant them."""
    config = probe.config
    wanted = required_privileges(
        config.scopes,
        version=deployment.version,
        is_sharded=deployment.is_sharded,
        is_shard=deployment.is_shard
        or config.shard is not None
        or config.properties.deployment == "shard",
    )
    try:
        with pymongo.timeout(ANSWER_S), decode_replies():
            status = probe.client.admin.command("connectionStatus", showPrivileges=True)
            info = status["authInfo"]
            users = [(str(each["user"]), str(each["db"])) for each in info["authenticatedUsers"]]
            lacking = missing_privileges(wanted, info.get("authenticatedUserPrivileges", ()))
            roles = info["authenticatedUserRoles"]
    except PyMongoError as error:
        message = f"The privileges cannot be queried: {error_text(error)}."
        remedy = "Retry. If the error persists, see the server's log."
        yield fault("privileges", message, remedy, code="privileges_unknown")
        return
    if not users:
        yield ok("privileges", "The agent does not log in; MongoDB requires no privileges.")
        return
    user, database = users[0]
    required = [each for each in lacking if each.need.is_required]
    useful = [each for each in lacking if not each.need.is_required]
    if required:
        message = f"The user {user} lacks required privileges: {_with_purposes(required)}."
        remedy = grant_commands(lacking, user, database, roles)
        yield fault("privileges", message, remedy, code="privilege_missing")
    else:
        yield ok("privileges", f"The user {user} has the required privileges.")
    if useful:
        message = f"Optional privileges are missing: {_with_purposes(useful)}."
        remedy = "The commands above grant them."
        if not required:
            remedy = grant_commands(useful, user, database, roles)
        yield warning("privileges", message, remedy, code="privilege_recommended")


def _with_purposes(lacking: Sequence[MissingPrivilege]) -> str:
    return "; ".join(f"{each}, {each.need.purpose}" for each in lacking)


def check_streams(probe: MongoProbe, deployment: Deployment) -> Iterator[Finding]:
    client, config, options = probe.client, probe.config, probe.options()
    for scope in config.scopes:
        try:
            source = StreamSource(client, scope, config.pipeline, options)
            StreamCursor.open(source, Opening()).close()
        except StreamFailedError as error:
            kind, remedy = error.failure.value, _stream_remedy(client)
            message = f"The stream of {_scope_text(scope)} cannot be opened ({kind}): {error}."
            yield fault("change stream", message, remedy, code="stream_not_open")
        else:
            yield ok("change stream", f"The stream of {_scope_text(scope)} can be opened.")


def _stream_remedy(client: Client) -> str:
    try:
        client.admin.command("ping")
    except PyMongoError:
        return "Check that MongoDB has a primary."
    return "See the findings about privileges and version."


def check_reading(client: Client, database: str, collection: str) -> Iterator[Finding]:
    """Check that documents can be read, as snapshots require."""
    try:
        command = {"find": collection, "projection": {"_id": 1}, "limit": 1, "singleBatch": True}
        run_command(client, command, database)
    except PyMongoError as error:
        message = f"{database}.{collection} cannot be read: {error_text(error)}."
        remedy = (
            "Grant `find` on it, and on a shard of MongoDB 8.0 the role `directShardOperations`."
        )
        yield fault("reading", message, remedy, code="collection_not_readable")


def _scope_text(scope: Scope) -> str:
    if scope.database is None:
        return "the deployment"
    if scope.collection is None:
        return f"the database {scope.database}"
    return f"{scope.database}.{scope.collection}"


def check_shards(config: MongoConfig) -> Iterator[Finding]:
    """List the shards again, through the configured addresses."""
    properties, own = config.properties, config.shard
    if properties.connection_mode != "replica_set":
        return
    listing = replace(config, client=config.seeds or config.client)
    try:
        shards = assign_shard(listing, round(ANSWER_S * 1000)).shards
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
            "the first start of the tasks, and start the missing tasks.",
            code="shard_without_task",
        )
    if own is not None and own.name not in names:
        yield fault(
            "shards",
            f"The shard {own.name} was removed from the cluster. The agent still delivers its "
            "remaining changes.",
            "Restart this task when the stream has no lag; it then reads the shard with its "
            "number, or waits for a shard.",
            code="shard_removed",
        )
    elif shards and not missing:
        task = "waits for a shard" if own is None else f"reads {own.name}"
        yield ok("shards", f"Task {properties.task_id} {task}; all {len(names)} have a task.")
