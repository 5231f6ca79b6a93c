"""Commands about databases, collections and indexes."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

from bson import Binary, Int64
from bson.binary import UUID_SUBTYPE

from tests.support.mongodb.server.commands.batches import cursor_reply
from tests.support.mongodb.server.commands.command import Command
from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.matching import is_match
from tests.support.mongodb.server.oplog import Change, Namespace
from tests.support.mongodb.server.store import Collection, kind_of
from tests.support.mongodb.server.wire import Document

_OF_EVERY_COMMAND = {
    "autocommit",
    "comment",
    "lsid",
    "maxTimeMS",
    "readConcern",
    "startTransaction",
    "txnNumber",
    "writeConcern",
}


def _options(context: Context) -> Document:
    found = {
        name: value
        for name, value in context.body.items()
        if name != context.name and not name.startswith("$") and name not in _OF_EVERY_COMMAND
    }
    # Those of a capped collection are as small numbers as they can be.
    return found | {name: int(found[name]) for name in ("size", "max") if name in found}


def _existing(context: Context, namespace: Namespace) -> Collection:
    found = context.collection(namespace)
    if found is None:
        raise CommandError(26, f"ns does not exist: {'.'.join(namespace)}")
    return found


def _create(context: Context) -> Document:
    namespace = context.namespace
    if context.collection(namespace) is not None:
        raise CommandError(48, f"Collection {'.'.join(namespace)} already exists.")
    options = _options(context)
    _check_images(context, options)
    _check_view(options)
    context.created(namespace, options)
    return {}


def _check_images(context: Context, options: Document) -> None:
    images = "changeStreamPreAndPostImages"
    release = context.deployment.topology.release
    if images in options and not release.has_images:
        raise CommandError(40415, f"BSON field '{context.name}.{images}' is an unknown field.")
    if images in options and not release.enables_images:
        raise CommandError(72, f"The '{images}' is not supported in this compatibility version")


def _check_view(options: Document) -> None:
    if any("$changeStream" in stage for stage in options.get("pipeline", ())):
        raise CommandError(167, "$changeStream cannot be used in a view definition")


def _modify(context: Context) -> Document:
    collection = _existing(context, context.namespace)
    options = _options(context)
    _check_images(context, options)
    _check_view(options)
    change = Change("modify", *context.namespace, uuid=collection.uuid, description=options)
    if collection.is_view:
        context.commit(replace(change, is_view=True))
        return {}
    uuid = Binary(collection.uuid.bytes, UUID_SUBTYPE)
    state = {"collectionOptions": {"uuid": uuid, **collection.options}}
    context.commit(replace(change, state_before=state))
    return {}


def _drop(context: Context) -> Document:
    namespace = context.namespace
    collection = context.collection(namespace)
    if collection is not None:
        _drop_one(context, namespace)
        return {"nIndexesWas": len(collection.indexes), "ns": ".".join(namespace)}
    if context.deployment.topology.release.drops_what_is_not_there:
        return {}
    raise CommandError(26, "ns not found")


def _drop_one(context: Context, namespace: Namespace) -> None:
    collection = _existing(context, namespace)
    context.commit(Change("drop", *namespace, uuid=collection.uuid, is_view=collection.is_view))


def _drop_database(context: Context) -> Document:
    database = context.database
    for namespace in context.deployment.store.namespaces():
        if namespace[0] == database:
            _drop_one(context, namespace)
    context.commit(Change("dropDatabase", database))
    return {"dropped": database}


def _rename(context: Context) -> Document:
    source = _namespace(context.body["renameCollection"])
    target = _namespace(context.body["to"])
    _existing(context, source)
    if context.collection(target) is not None and not context.body.get("dropTarget"):
        raise CommandError(48, "target namespace exists")
    if source[0] == target[0]:
        _rename_one(context, source, target)
        return {}
    copy = _copy(context, source, target[0])
    _rename_one(context, copy, target)
    _drop_one(context, source)
    return {}


def _rename_one(context: Context, source: Namespace, target: Namespace) -> None:
    uuid, existing = _existing(context, source).uuid, context.collection(target)
    description: dict[str, Any] = {"to": {"db": target[0], "coll": target[1]}}
    if existing is not None:
        description["dropTarget"] = Binary(existing.uuid.bytes, UUID_SUBTYPE)
    context.commit(Change("rename", *source, uuid=uuid, to=target, description=description))


def _copy(context: Context, source: Namespace, database: str) -> Namespace:
    """A copy of a collection under another name in another database."""
    name = (database, f"tmp{uuid4().hex[:5]}.renameCollection")
    original = _existing(context, source)
    uuid = context.created(name, original.options).uuid
    for index in original.indexes.values():
        if index["name"] != "_id_":
            description = {"indexes": [index]}
            context.commit(Change("createIndexes", *name, uuid=uuid, description=description))
    for document in list(context.view().documents(source)):
        context.write(name, "insert", None, document)
    return name


def _namespace(name: str) -> Namespace:
    database, _, collection = name.partition(".")
    return database, collection


def _create_indexes(context: Context) -> Document:
    namespace = context.namespace
    transaction = context.transaction
    collection = context.created(namespace)
    before = len(collection.indexes)
    new = [
        {"v": 2, **each}
        for each in context.body["indexes"]
        if each["name"] not in collection.indexes
    ]
    if new:
        if transaction is not None and namespace not in transaction.created:
            name = ".".join(namespace)
            message = f"Cannot create new indexes on existing collection {name}"
            raise CommandError(263, f"{message} in a multi-document transaction.")
        # A build over documents is one event for all of its indexes.
        is_empty = next(context.write_view().documents(namespace), None) is None
        change = Change("createIndexes", *namespace, uuid=collection.uuid)
        for indexes in [[each] for each in new] if is_empty else [new]:
            context.commit(replace(change, description={"indexes": indexes}))
        collection.add_indexes(new)
    return {"numIndexesBefore": before, "numIndexesAfter": len(collection.indexes)}


def _drop_indexes(context: Context) -> Document:
    collection = _existing(context, context.namespace)
    before = len(collection.indexes)
    wanted = context.body["index"]
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    if names == ["*"]:
        names = [name for name in collection.indexes if name != "_id_"]
    change = Change("dropIndexes", *context.namespace, uuid=collection.uuid)
    for name in names:
        if name not in collection.indexes:
            raise CommandError(27, f"index not found with name [{name}]")
        gone = collection.indexes.pop(name)
        context.commit(replace(change, description={"indexes": [gone]}))
    return {"nIndexesWas": before}


def _first_batch(context: Context, name: str, documents: list[Document]) -> Document:
    size = context.body.get("cursor", {}).get("batchSize", len(documents))
    return cursor_reply(context, (context.database, name), documents, size, has_known_end=True)


def _list_indexes(context: Context) -> Document:
    collection = _existing(context, context.namespace)
    return _first_batch(context, context.namespace[1], list(collection.indexes.values()))


def _list_collections(context: Context) -> Document:
    found = []
    for database, name in context.deployment.store.namespaces():
        if database == context.database:
            collection = _existing(context, (database, name))
            uuid = Binary(collection.uuid.bytes, UUID_SUBTYPE)
            kind = kind_of(collection.options)
            entry: Document = {
                "name": name,
                "type": kind,
                "options": dict(collection.options),
                "info": {"readOnly": kind == "view", "uuid": uuid},
            }
            if kind == "collection":
                entry["idIndex"] = collection.indexes["_id_"]
            if is_match(context.body.get("filter", {}), entry):
                found.append(entry)
    return _first_batch(context, "$cmd.listCollections", found)


def _list_databases(context: Context) -> Document:
    names = sorted({database for database, _ in context.deployment.store.namespaces()})
    user = context.connection.user
    found: list[Document] = [
        {"name": name, "sizeOnDisk": Int64(4096), "empty": False}
        for name in sorted({*names, "admin", "config", "local"})
        if user is None or user.may("find", name)
    ]
    query = context.body.get("filter", {})
    return {"databases": [each for each in found if is_match(query, each)]}


def _validate(context: Context) -> Document:
    collection = _existing(context, context.namespace)
    count = sum(1 for _ in context.view().documents(context.namespace))
    reply = {"ns": ".".join(context.namespace), "nrecords": count, "valid": True}
    return {**reply, "nIndexes": len(collection.indexes), "warnings": [], "errors": []}


COMMANDS = {
    "create": Command(_create, "write", is_write=True),
    "collMod": Command(_modify, "write", is_write=True),
    "drop": Command(_drop, "write", is_write=True),
    "dropDatabase": Command(_drop_database, "write", is_write=True),
    "renameCollection": Command(_rename, "write", is_write=True),
    "createIndexes": Command(_create_indexes, "write", is_write=True),
    "dropIndexes": Command(_drop_indexes, "write", is_write=True),
    "validate": Command(_validate, "find", is_read=True),
    "listIndexes": Command(_list_indexes, "listIndexes", is_read=True),
    "listCollections": Command(_list_collections, "listCollections", is_read=True),
    "listDatabases": Command(_list_databases, is_read=True),
}
