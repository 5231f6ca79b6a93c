"""Operations that ask a shard and not the router, which MongoDB 8.0 refuses without a right to it.

A change stream is let through: it reads the oplog, which is the shard's own. Its look-ups are not.
That is as the server's source has it; its manual counts no stream among what is let through.
"""

from tests.support.mongodb.server.change_events import INTERNAL_DATABASES
from tests.support.mongodb.server.commands.command import Command
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.errors import DIRECT_IS_REFUSED, CommandError
from tests.support.mongodb.server.read_concern import is_change_stream


def may_ask_directly(context: Context) -> bool:
    """Allowed where there are no users, and in a cluster of one shard."""
    deployment, user = context.deployment, context.connection.user
    sharding = deployment.sharding
    is_guarded = sharding.refuses_direct_operations and sharding.shards > 1
    if deployment.shard is None or not is_guarded or user is None:
        return True
    return user.may("issueDirectShardOperations", None, "")


def check_direct(context: Context, command: Command) -> None:
    """Raises the error 13 for reads and writes of users' data."""
    is_of_data = command.is_read or command.is_write
    if not is_of_data or context.database in INTERNAL_DATABASES or is_change_stream(context.body):
        return
    if not may_ask_directly(context):
        raise CommandError(13, DIRECT_IS_REFUSED)
