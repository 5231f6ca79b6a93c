"""Sessions and transactions."""

import hashlib
from collections.abc import Iterable

from bson import Binary

from tests.support.mongodb.server.commands.command import Command
from tests.support.mongodb.server.context import Context, snapshot_view
from tests.support.mongodb.server.deployment import Session, Transaction
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.wire import Document


def enter_transaction(context: Context) -> None:
    """Find or begin the transaction that a command belongs to."""
    body = context.body
    if body.get("autocommit") is not False or context.name == "commitTransaction":
        return
    session = context.deployment.session(body["lsid"])
    number = body["txnNumber"]
    transaction = session.transaction
    if body.get("startTransaction"):
        at = body.get("readConcern", {}).get("atClusterTime")
        view = snapshot_view(context.deployment, at)
        if transaction is not None and transaction.state == "open":
            transaction.state = "aborted"
        session.transaction = Transaction(_full_lsid(context), number, view)
    elif transaction is None or transaction.number != number or transaction.state != "open":
        message = f"Given transaction number {number} does not match any in-progress transactions."
        raise CommandError(251, message)
    context.transaction = session.transaction


def abort(context: Context) -> None:
    """A command of the transaction failed: nothing of it stays."""
    if context.transaction is not None and context.transaction.state == "open":
        context.transaction.state = "aborted"
        context.deployment.changed.notify_all()


def _full_lsid(context: Context) -> Document:
    user = context.connection.user
    name = b"" if user is None else f"{user.name}@admin".encode()
    return {"id": context.body["lsid"]["id"], "uid": Binary(hashlib.sha256(name).digest())}


def _session(context: Context) -> Session:
    if "lsid" not in context.body or "txnNumber" not in context.body:
        raise CommandError(72, f"{context.name} must be run within a transaction")
    return context.deployment.session(context.body["lsid"])


def _commit(context: Context) -> Document:
    transaction = _session(context).transaction
    number = context.body["txnNumber"]
    if transaction is None or transaction.number != number or transaction.state == "aborted":
        message = f"Transaction with {{ txnNumber: {number} }} has been aborted."
        raise CommandError(251, message)
    # A commit that comes again finds its work done.
    if transaction.state == "open":
        if any(context.collection(namespace) is not None for namespace in transaction.created):
            transaction.state = "aborted"
            raise CommandError(112, "Collection namespace is already in use")
        transaction.state = "committed"
        if transaction.changes:
            identity = (transaction.lsid, transaction.number)
            context.wrote_at = context.deployment.commit(tuple(transaction.changes), identity)
    return {}


def _abort(context: Context) -> Document:
    abort(context)
    return {}


def _end_sessions(context: Context) -> Document:
    for lsid in context.body["endSessions"]:
        session = context.deployment.sessions.pop(bytes(lsid["id"]), None)
        if session is not None and session.transaction is not None:
            session.transaction.state = "aborted"
            context.deployment.changed.notify_all()
    return {}


def _kill_sessions(context: Context) -> Document:
    """Abort the open transactions of some sessions."""
    known = context.deployment.sessions
    ids = [bytes(lsid["id"]) for lsid in context.body["killSessions"]]
    _kill(context, [known[key] for key in ids if key in known])
    return {}


def _kill_all_sessions(context: Context) -> Document:
    """Abort every open transaction; patterns of users are not looked at."""
    _kill(context, context.deployment.sessions.values())
    return {}


def _kill(context: Context, sessions: Iterable[Session]) -> None:
    for session in sessions:
        if session.transaction is not None and session.transaction.state == "open":
            session.transaction.state = "aborted"
    context.deployment.changed.notify_all()


COMMANDS = {
    "killSessions": Command(_kill_sessions),
    "killAllSessions": Command(_kill_all_sessions, "killAnySession"),
    "commitTransaction": Command(_commit, is_write=True),
    "abortTransaction": Command(_abort, is_write=True),
    "endSessions": Command(_end_sessions),
}
