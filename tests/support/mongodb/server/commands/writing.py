"""`insert`, `update`, `delete` and `findAndModify`."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

from bson import ObjectId, Regex

from tests.support.mongodb.server.commands.command import Command
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.key_string import order
from tests.support.mongodb.server.matching import equalities, is_match
from tests.support.mongodb.server.oplog import Namespace
from tests.support.mongodb.server.pipelines import aggregated, projected
from tests.support.mongodb.server.updates import (
    check_operators,
    check_stages,
    is_replacement,
    put,
    updated,
)
from tests.support.mongodb.server.wire import MAX_DOCUMENT_BYTES, Document, encode


def _each(
    context: Context, statements: list[Document], run: Callable[[int, Document], int]
) -> tuple[int, list[Document]]:
    """Run statements; errors of single ones become `writeErrors`, but not in a transaction."""
    if not statements:
        raise CommandError(16, "Write batch sizes must be between 1 and 100000. Got 0 operations.")
    count = 0
    errors: list[Document] = []
    for index, statement in enumerate(statements):
        try:
            count += run(index, statement)
        except CommandError as error:
            if context.transaction is not None or error.code in (50, 11602):
                raise
            errors.append({"index": index, "code": error.code, "errmsg": error.message})
            if context.body.get("ordered", True):
                break
    return count, errors


def _insert(context: Context) -> Document:
    namespace = context.namespace

    def run(_: int, document: Document) -> int:
        _insert_one(context, namespace, document)
        return 1

    count, errors = _each(context, context.body["documents"], run)
    return {"n": count, **({"writeErrors": errors} if errors else {})}


def _insert_one(context: Context, namespace: Namespace, document: Document) -> None:
    document = {"_id": document.get("_id", ObjectId()), **document}
    if isinstance(document["_id"], (list, Regex)):
        kind = "an array" if isinstance(document["_id"], list) else "a regex"
        raise CommandError(2, f"can't use {kind} for _id")
    if len(encode(document)) > MAX_DOCUMENT_BYTES:
        raise CommandError(10334, "object to insert too large")
    place = context.place(namespace, document)
    context.claim(namespace, place)
    if context.write_view().document(namespace, place) is not None:
        name = ".".join(namespace)
        message = f"E11000 duplicate key error collection: {name} index: _id_ dup key"
        raise CommandError(11000, f"{message}: {{ _id: {document['_id']!r} }}")
    context.write(namespace, "insert", None, document)


def _update(context: Context) -> Document:
    namespace = context.namespace
    modified = 0
    upserted: list[Document] = []
    for statement in context.body["updates"]:
        check_stages(statement["u"])

    def run(index: int, statement: Document) -> int:
        nonlocal modified
        update = statement["u"]
        check_operators(update)
        is_multi = bool(statement.get("multi"))
        if is_multi and is_replacement(update):
            raise CommandError(9, "multi update is not supported for replacement-style update")
        found = _found(context, namespace, statement["q"], None if is_multi else 1)
        for before in found:
            modified += _change(context, namespace, before, update) is not before
        if not found and statement.get("upsert"):
            document = _upsert(context, namespace, statement["q"], update)
            upserted.append({"index": index, "_id": document["_id"]})
            return 1
        return len(found)

    count, errors = _each(context, context.body["updates"], run)
    reply: Document = {"n": count, "nModified": modified}
    if upserted:
        reply["upserted"] = upserted
    return {**reply, **({"writeErrors": errors} if errors else {})}


def _delete(context: Context) -> Document:
    namespace = context.namespace

    def run(_: int, statement: Document) -> int:
        found = _found(context, namespace, statement["q"], statement.get("limit") or None)
        for before in found:
            _remove(context, namespace, before)
        return len(found)

    count, errors = _each(context, context.body["deletes"], run)
    return {"n": count, **({"writeErrors": errors} if errors else {})}


def _find_and_modify(context: Context) -> Document:
    body = context.body
    namespace = context.namespace
    documents: Iterable[Document] = context.write_view().documents(namespace)
    matching = (each for each in documents if is_match(body.get("query", {}), each))
    stages = [{"$sort": body["sort"]}] if body.get("sort") else []
    before = next(aggregated(matching, stages), None)
    last: Document = {"n": int(before is not None)}
    shown = before
    if "update" in body:
        check_stages(body["update"])
        check_operators(body["update"])
    if before is not None:
        context.claim(namespace, context.place(namespace, before))
        if body.get("remove"):
            _remove(context, namespace, before)
        else:
            last["updatedExisting"] = True
            after = _change(context, namespace, before, body["update"])
            shown = after if body.get("new") else before
    elif not body.get("remove"):
        last["updatedExisting"] = False
        if body.get("upsert"):
            after = _upsert(context, namespace, body.get("query", {}), body["update"])
            last |= {"n": 1, "upserted": after["_id"]}
            shown = after if body.get("new") else None
    if shown is not None and body.get("fields"):
        shown = projected(shown, body["fields"])
    return {"lastErrorObject": last, "value": shown}


def _found(
    context: Context, namespace: Namespace, query: Document, limit: int | None
) -> list[Document]:
    """The documents to write, as they are once nobody else writes them."""
    found: list[Document] = []
    for document in list(context.write_view().documents(namespace)):
        if limit is not None and len(found) == limit:
            break
        if not is_match(query, document):
            continue
        place = context.place(namespace, document)
        context.claim(namespace, place)
        current = context.write_view().document(namespace, place)
        if current is not None and is_match(query, current):
            found.append(current)
    return found


def _change(context: Context, namespace: Namespace, before: Document, update: Any) -> Document:
    """Replace or update one document; the same object when nothing changes."""
    if is_replacement(update):
        if "_id" in update and order(update["_id"]) != order(before["_id"]):
            message = "The _id field cannot be changed"
            raise CommandError(66, f"{message} from {before['_id']!r} to {update['_id']!r}.")
        after = {"_id": before["_id"], **copy.deepcopy(update)}
        # A replacement without `_id` is a write, also of equal fields.
        if "_id" in update and encode(after) == encode(before):
            return before
        context.write(namespace, "replace", before, after)
        return after
    after, description = updated(before, update)
    if len(encode(after)) > MAX_DOCUMENT_BYTES:
        raise CommandError(10334, "Resulting document after update is larger than 16777216")
    if encode(after) == encode(before):
        return before
    if isinstance(update, list) and description.size >= len(encode(after)):
        # The oplog has whichever is smaller, the difference or the document.
        context.write(namespace, "replace", before, after)
    else:
        context.write(namespace, "update", before, after, description.document())
    return after


def _upsert(context: Context, namespace: Namespace, query: Document, update: Any) -> Document:
    document: Document = {}
    for path, value in equalities(query):
        put(document, path, value)
    if is_replacement(update):
        document = {**({"_id": document["_id"]} if "_id" in document else {}), **update}
    else:
        document, _ = updated(document, update, is_insert=True)
    document = {"_id": document.get("_id", ObjectId()), **document}
    _insert_one(context, namespace, document)
    return document


def _remove(context: Context, namespace: Namespace, before: Document) -> None:
    context.write(namespace, "delete", before, None)


COMMANDS = {
    "insert": Command(_insert, "write", is_write=True),
    "update": Command(_update, "write", is_write=True),
    "delete": Command(_delete, "write", is_write=True),
    "findAndModify": Command(_find_and_modify, "write", is_write=True),
    "findandmodify": Command(_find_and_modify, "write", is_write=True),
}
