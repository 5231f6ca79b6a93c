"""Commands that tell of the member and the replica set, and fail points."""

from dataclasses import replace

from tests.support.mongodb.server.commands.authentication import speculate
from tests.support.mongodb.server.commands.command import Command
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.faults import OF_WRITES, parse_fail_point, parse_write_fail_point
from tests.support.mongodb.server.wire import MAX_DOCUMENT_BYTES, Document


def introduce(context: Context) -> None:
    """Keep the application's name in a client's first message: fail points look at it."""
    if context.name in ("hello", "ismaster", "isMaster"):
        application = context.body.get("client", {}).get("application", {}).get("name")
        if application is not None:
            context.connection.application = application


def _hello(context: Context) -> Document:
    body = context.body
    known = body.get("topologyVersion")
    member = context.member
    if known is not None and known["processId"] == member.process_id:
        timeout_s = body.get("maxAwaitTimeMS", 0) / 1000
        # An election answers the waiting clients; it does not interrupt them.
        context.wait(lambda: member.version != known["counter"], timeout_s, survives_elections=True)
    topology = context.deployment.topology
    reply = topology.hello(member, context.connection, context.deployment.last_write())
    if "saslSupportedMechs" in body:
        reply["saslSupportedMechs"] = ["SCRAM-SHA-256"]
    if "speculativeAuthenticate" in body:
        reply |= speculate(context, body["speculativeAuthenticate"])
    return reply


def _ping(_: Context) -> Document:
    return {}


def _build_info(context: Context) -> Document:
    release = context.deployment.topology.release
    return {
        "version": release.version,
        "versionArray": [*release.numbers, 0],
        "gitVersion": "0" * 40,
        "modules": [],
        "bits": 64,
        "debug": False,
        "maxBsonObjectSize": MAX_DOCUMENT_BYTES,
        "storageEngines": ["wiredTiger"],
    }


def _modify_change_streams(context: Context) -> Document:
    deployment, body = context.deployment, context.body
    if not deployment.topology.release.is_documentdb:
        raise CommandError(59, "no such command: 'modifyChangeStreams'")
    namespace = (body["database"], body["collection"])
    if body["enable"]:
        deployment.stream_namespaces.add(namespace)
    else:
        deployment.stream_namespaces.discard(namespace)
    return {}


def _get_parameter(context: Context) -> Document:
    version = context.deployment.topology.release.compatibility
    # Fail points are test commands; clients look here before they set one.
    known = {"featureCompatibilityVersion": {"version": version}, "enableTestCommands": True}
    if context.body["getParameter"] == "*":
        return known
    return {name: value for name, value in known.items() if name in context.body}


def _set_compatibility(context: Context) -> Document:
    deployment, version = context.deployment, context.body["setFeatureCompatibilityVersion"]
    release = deployment.topology.release
    if version not in release.compatibilities:
        raise CommandError(2, f"Invalid feature compatibility version value, '{version}'")
    new = replace(release, older="" if version == release.series else version)
    if not new.enables_images:
        kept = (deployment.store.collection(each) for each in deployment.store.namespaces())
        if any(each is not None and each.has_images for each in kept):
            raise CommandError(332, "Cannot downgrade: a collection keeps pre-images")
        for log in deployment.logs:
            log.drop_images()
    for each in (deployment, *deployment.shards):
        each.topology.release = new
    return {}


def _command_line(context: Context) -> Document:
    topology = context.deployment.topology
    parsed: Document = {"setParameter": {"enableTestCommands": "1"}}
    if not topology.is_standalone:
        parsed["replication"] = {"replSet": topology.set_name}
    if context.deployment.users:
        parsed["security"] = {"authorization": "enabled"}
    return {"argv": ["mongod"], "parsed": parsed}


def _status(context: Context) -> Document:
    return context.deployment.topology.status(context.deployment.last_write())


def _fail_point(context: Context) -> Document:
    if context.body["configureFailPoint"] == OF_WRITES:
        context.member.write_fail_point = parse_write_fail_point(context.body)
    else:
        context.member.fail_point = parse_fail_point(context.body)
    return {"count": 0}


def _connection_status(context: Context) -> Document:
    user = context.connection.user
    users = [] if user is None else [{"user": user.name, "db": "admin"}]
    granted = [] if user is None else [*user.roles, *((role, "admin") for role in user.made_roles)]
    roles = [{"role": role, "db": place} for role, place in granted]
    information: Document = {"authenticatedUsers": users, "authenticatedUserRoles": roles}
    if context.body.get("showPrivileges"):
        privileges = [] if user is None else [each.document() for each in user.all_privileges()]
        information["authenticatedUserPrivileges"] = privileges
    return {"authInfo": information}


def _server_status(context: Context) -> Document:
    release = context.deployment.topology.release
    return {
        "host": context.member.name,
        "version": release.version,
        "process": "mongod",
        "maxWireVersion": release.wire_version,
        "connections": {"current": len(context.member.connections)},
        "repl": {"setName": context.deployment.topology.set_name},
    }


def _step_down(context: Context) -> Document:
    deployment = context.deployment
    running = [each for each in deployment.topology.electable() if each is not context.member]
    if not running:
        raise CommandError(262, "No electable secondaries caught up")
    deployment.elect(running[0])
    return {}


def _freeze(_: Context) -> Document:
    return {}


def _append_note(context: Context) -> Document:
    context.wrote_at = context.deployment.commit(())
    return {}


def _initiate(_: Context) -> Document:
    raise CommandError(23, "already initialized")


COMMANDS = {
    "replSetFreeze": Command(_freeze, "replSetStateChange"),
    "replSetStepDown": Command(_step_down, "replSetStateChange", is_write=True),
    "appendOplogNote": Command(_append_note, "appendOplogNote", is_write=True),
    "replSetInitiate": Command(_initiate, "replSetGetConfig"),
    "hello": Command(_hello),
    "ismaster": Command(_hello),
    "isMaster": Command(_hello),
    "ping": Command(_ping),
    "buildInfo": Command(_build_info),
    "buildinfo": Command(_build_info),
    "connectionStatus": Command(_connection_status),
    "modifyChangeStreams": Command(_modify_change_streams),
    "getCmdLineOpts": Command(_command_line, "getCmdLineOpts"),
    "setFeatureCompatibilityVersion": Command(
        _set_compatibility, "setFeatureCompatibilityVersion", is_write=True
    ),
    "getParameter": Command(_get_parameter, "getParameter"),
    "replSetGetStatus": Command(_status, "replSetGetStatus"),
    "serverStatus": Command(_server_status, "serverStatus"),
    "configureFailPoint": Command(_fail_point, "configureFailPoint"),
}
