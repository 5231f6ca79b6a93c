"""`saslStart`, `saslContinue`, and the same inside of `hello`."""

from ssl import SSLSocket

from cryptography.x509 import load_der_x509_certificate

from tests.support.mongodb.server.commands.command import Command
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.scram import Conversation, failed, user_name
from tests.support.mongodb.server.wire import Document


def speculate(context: Context, body: Document) -> Document:
    """The first step, reported only on success."""
    try:
        step = _authenticate if "authenticate" in body else _start
        return {"speculativeAuthenticate": step(context, body)}
    except CommandError:
        return {}


def _start(context: Context, body: Document) -> Document:
    if body.get("mechanism") != "SCRAM-SHA-256":
        raise CommandError(2, f"Received authentication for mechanism {body.get('mechanism')}")
    message = bytes(body["payload"]).decode()
    name = user_name(message)
    # An arbiter has no data, and so no users.
    users = () if context.member.is_arbiter else context.deployment.users
    known = {user.name: user for user in users}
    conversation = Conversation(known.get(name))
    context.connection.conversation = conversation
    return {"conversationId": 1, "done": False, "payload": conversation.first(message)}


def _authenticate(context: Context, body: Document) -> Document:
    """By the certificate of the connection, whose subject is the name of the user."""
    connection = context.connection
    if body.get("mechanism") != "MONGODB-X509" or not isinstance(connection.socket, SSLSocket):
        raise failed()
    shown = load_der_x509_certificate(connection.socket.getpeercert(binary_form=True) or b"")
    subject = shown.subject.rfc4514_string()
    found = next((user for user in context.deployment.users if user.name == subject), None)
    if found is None:
        raise failed()
    connection.user = found
    return {"dbname": "$external", "user": subject}


def _sasl_start(context: Context) -> Document:
    return _start(context, context.body)


def _sasl_continue(context: Context) -> Document:
    connection = context.connection
    conversation, connection.conversation = connection.conversation, None
    if conversation is None:
        raise failed()
    payload = conversation.final(bytes(context.body["payload"]).decode())
    connection.user = conversation.user
    return {"conversationId": 1, "done": True, "payload": payload}


def _logout(context: Context) -> Document:
    context.connection.user = None
    return {}


COMMANDS = {
    "saslStart": Command(_sasl_start),
    "saslContinue": Command(_sasl_continue),
    "authenticate": Command(lambda context: _authenticate(context, context.body)),
    "logout": Command(_logout),
}
