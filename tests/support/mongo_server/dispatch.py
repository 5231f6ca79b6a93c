"""From a request to its reply: fail points, rights, roles, transactions, the command, the times."""

from tests.support.mongo_server.commands import COMMANDS, Command
from tests.support.mongo_server.commands.sessions import abort, enter_transaction
from tests.support.mongo_server.context import Context
from tests.support.mongo_server.direct import check_direct
from tests.support.mongo_server.errors import (
    RESUMABLE,
    RETRYABLE_WRITES,
    STATE_CHANGES,
    CommandError,
    ConnectionDroppedError,
)
from tests.support.mongo_server.rights import check_rights
from tests.support.mongo_server.wire import Document


def reply_to(context: Context) -> Document:
    """The whole body of the reply. Raises `ConnectionDroppedError` where there is none."""
    with context.deployment.changed:
        try:
            body = {**_run(context), "ok": 1.0}
        except CommandError as error:
            body = _failure(context, error)
        return {**body, **context.deployment.times(context.history.time)}


def _run(context: Context) -> Document:
    fail_point = context.member.fail_point
    hits = fail_point is not None and fail_point.hits(context.name, context.connection.application)
    if hits and fail_point is not None:
        if fail_point.block_s:
            context.wait(lambda: False, fail_point.block_s)
        if fail_point.closes_connection:
            raise ConnectionDroppedError
        if fail_point.error is not None:
            raise fail_point.error
    command = COMMANDS.get(context.name)
    if command is None:
        raise CommandError(59, f"no such command: '{context.name}'")
    check_rights(context, command)
    check_direct(context, command)
    _check_role(context, command)
    enter_transaction(context)
    if context.transaction is not None and context.name == "aggregate":
        _refuse_stream(context)
    reply = _once(context, command)
    if command.is_write and context.transaction is None:
        reply |= context.await_concern()
    if hits and fail_point is not None and "writeConcernError" in fail_point.data:
        concern_error = fail_point.data["writeConcernError"]
        reply["writeConcernError"] = concern_error
        reply["errorLabels"] = sorted(_labels(context, concern_error["code"], False))
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


def _refuse_stream(context: Context) -> None:
    pipeline = context.body["pipeline"]
    if pipeline and "$changeStream" in pipeline[0]:
        raise CommandError(263, "$changeStream cannot be used in a transaction")


def _once(context: Context, command: Command) -> Document:
    """A retryable write that comes a second time gets the first one's reply."""
    body = context.body
    is_retryable = "txnNumber" in body and "autocommit" not in body and "lsid" in body
    if not is_retryable or not command.is_write:
        return command.run(context)
    session = context.deployment.session(body["lsid"])
    if session.write_number == body["txnNumber"] and session.write_reply is not None:
        return dict(session.write_reply)
    reply = command.run(context)
    session.write_number, session.write_reply = body["txnNumber"], dict(reply)
    return reply


def _failure(context: Context, error: CommandError) -> Document:
    body = error.reply()
    labels = {*error.labels, *_labels(context, error.code, error.is_before_cursor)}
    if labels:
        body["errorLabels"] = sorted(labels)
    if error.code in STATE_CHANGES:
        body["topologyVersion"] = context.member.topology_version()
    abort(context)
    return body


def _labels(context: Context, code: int, is_before_cursor: bool) -> set[str]:
    labels = set[str]()
    is_stream = context.name in ("aggregate", "getMore")
    if is_stream and code in RESUMABLE and not is_before_cursor:
        labels.add("ResumableChangeStreamError")
    is_in_transaction = "autocommit" in context.body
    ends_transaction = context.name in ("commitTransaction", "abortTransaction")
    if is_in_transaction and not ends_transaction:
        if code == 112 or code in STATE_CHANGES:
            labels.add("TransientTransactionError")
    elif "txnNumber" in context.body and code in RETRYABLE_WRITES:
        labels.add("RetryableWriteError")
    return labels
