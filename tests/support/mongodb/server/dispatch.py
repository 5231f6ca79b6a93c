"""From a request to its reply: fail points, rights, roles, transactions, the command, the times."""

from collections.abc import Iterable

from tests.support.mongodb.server.commands import COMMANDS, Command
from tests.support.mongodb.server.commands.administration import introduce
from tests.support.mongodb.server.commands.fields import check_fields
from tests.support.mongodb.server.commands.sessions import abort, enter_transaction
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.direct import check_direct
from tests.support.mongodb.server.error_labels import error_labels
from tests.support.mongodb.server.errors import STATE_CHANGES, CommandError, ConnectionDroppedError
from tests.support.mongodb.server.read_concern import check_read_concern, is_change_stream
from tests.support.mongodb.server.rights import check_rights
from tests.support.mongodb.server.wire import Document

_IN_TRANSACTIONS = {
    "abortTransaction",
    "aggregate",
    "commitTransaction",
    "create",
    "createIndexes",
    "delete",
    "distinct",
    "find",
    "findAndModify",
    "findandmodify",
    "getMore",
    "insert",
    "killCursors",
    "update",
}


def reply_to(context: Context) -> Document:
    """The whole body of the reply. Raises `ConnectionDroppedError` where there is none."""
    with context.deployment.changed:
        try:
            body = {**_run(context), "ok": 1.0}
        except CommandError as error:
            body = _failure(context, error)
        if context.loses_connection:
            raise ConnectionDroppedError
        return {**body, **context.deployment.times(context.history.time)}


def _run(context: Context) -> Document:
    introduce(context)
    fail_point = context.member.fail_point
    hits = fail_point is not None and fail_point.hits(context.name, context.connection.application)
    if hits and fail_point is not None:
        if fail_point.block_s:
            context.wait(lambda: False, fail_point.block_s)
        if fail_point.closes_connection:
            raise ConnectionDroppedError
        if fail_point.error is not None:
            if not fail_point.is_before_cursor:
                cursor = context.member.cursors.get(context.body["getMore"])
                context.is_on_stream = cursor is not None and cursor.stream is not None
            raise fail_point.error
    command = COMMANDS.get(context.name)
    if command is None:
        raise CommandError(59, f"no such command: '{context.name}'")
    check_fields(context.name, context.body, context.deployment.topology.release)
    check_rights(context, command)
    check_direct(context, command)
    _check_role(context, command)
    check_read_concern(context)
    enter_transaction(context)
    if context.transaction is not None:
        _check_transaction(context)
    reply = _once(context, command)
    if command.is_write and context.transaction is None:
        reply |= context.await_concern()
    if hits and fail_point is not None and "writeConcernError" in fail_point.data:
        concern_error = fail_point.data["writeConcernError"]
        reply["writeConcernError"] = concern_error
        labels: Iterable[str] | None = fail_point.labels
        if labels is None:
            code = concern_error["code"]
            labels = _labels(context, None, concern_code=code)
        reply |= _labelled(labels)
    return reply


def _check_role(context: Context, command: Command) -> None:
    needs_data = command.is_read or command.is_write
    has_data = context.deployment.topology.is_initiated and not context.member.is_arbiter
    if needs_data and not has_data:
        raise CommandError(13436, "node is not in primary or recovering state")
    if context.deployment.is_router or context.member is context.deployment.topology.primary:
        return
    if command.is_write:
        raise CommandError(10107, "not primary")
    preference = context.body.get("$readPreference", {})
    if command.is_read and preference.get("mode", "primary") == "primary":
        raise CommandError(13435, "not primary and secondaryOk=false")


def _check_transaction(context: Context) -> None:
    if context.name not in _IN_TRANSACTIONS:
        message = f"Cannot run '{context.name}' in a multi-document transaction."
        raise CommandError(263, message)
    if is_change_stream(context.body):
        raise CommandError(263, "$changeStream cannot be used in a transaction")


def _once(context: Context, command: Command) -> Document:
    """A retryable write that comes a second time gets the first one's reply."""
    body = context.body
    if not context.is_retryable or not command.is_write:
        return command.run(context)
    if context.database == "local":
        message = "Retryable writes are not supported on the local database"
        raise CommandError(20, message)
    session = context.deployment.session(body["lsid"])
    if session.write_number == body["txnNumber"] and session.write_reply is not None:
        return dict(session.write_reply)
    reply = command.run(context)
    is_failed = "writeErrors" in reply and not reply["n"]
    session.write_number = body["txnNumber"]
    session.write_reply = None if is_failed else dict(reply)
    return reply


def _failure(context: Context, error: CommandError) -> Document:
    body = error.reply()
    labels: Iterable[str] | None = error.labels
    if labels is None:
        labels = _labels(context, error.code)
    body |= _labelled(labels)
    if error.code in STATE_CHANGES and not error.is_injected:
        body["topologyVersion"] = context.member.topology_version()
    abort(context)
    return body


def _labels(context: Context, code: int | None, concern_code: int | None = None) -> set[str]:
    opens_stream = context.name == "aggregate" and is_change_stream(context.body)
    return error_labels(
        context.name,
        context.body,
        code,
        concern_code=concern_code,
        is_on_stream=opens_stream or context.is_on_stream,
        is_router=context.deployment.is_router,
    )


def _labelled(labels: Iterable[str]) -> Document:
    return {"errorLabels": sorted(labels)} if labels else {}
