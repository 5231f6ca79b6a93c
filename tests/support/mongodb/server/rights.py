"""What a command needs its user to be allowed."""

from collections.abc import Iterator

from tests.support.mongodb.server.commands import Command
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.wire import Document

# What a client must be able to say before it says who it is.
_WITHOUT_USER = {
    "hello",
    "ismaster",
    "isMaster",
    "ping",
    "buildInfo",
    "buildinfo",
    "connectionStatus",
    "authenticate",
    "saslStart",
    "saslContinue",
    "endSessions",
}
_OF_THE_CLUSTER = {
    "serverStatus",
    "replSetGetStatus",
    "replSetGetConfig",
    "getParameter",
    "getCmdLineOpts",
    "replSetStateChange",
    "killAnySession",
}


def check_rights(context: Context, command: Command) -> None:
    """Raises the error 13 for what is missing."""
    if not context.deployment.users or context.name in _WITHOUT_USER:
        return
    user = context.connection.user
    if user is None:
        raise CommandError(13, f"Command {context.name} requires authentication")
    for right, database, collection in _needed(context, command):
        if not user.may(right, database, collection):
            value = context.body[context.name]
            shown = f'"{value}"' if isinstance(value, str) else value
            raise CommandError(
                13,
                f"not authorized on {context.database} to execute command "
                f"{{ {context.name}: {shown} }}",
            )


def _needed(context: Context, command: Command) -> Iterator[tuple[str, str | None, str]]:
    """Rights with their database, or None of the cluster, and collection."""
    name, target = context.name, context.body[context.name]
    collection = target if isinstance(target, str) else ""
    first: Document = next(iter(context.body.get("pipeline", ())), {})
    if name == "aggregate" and "$changeStream" in first:
        database = "" if first["$changeStream"].get("allChangesForCluster") else context.database
        yield "find", database, collection
        yield "changeStream", database, collection
    elif command.action in _OF_THE_CLUSTER or command.action == "configureFailPoint":
        yield command.action, None, ""
    elif command.action:
        yield command.action, context.database, collection
