"""Commands about databases, collections and indexes."""

from dataclasses import replace
from typing import Any

from bson import Binary, Int64

from tests.support.mongo_server.commands.command import Command
from tests.support.mongo_server.context import Context
from tests.support.mongo_server.errors import CommandError
from tests.support.mongo_server.matching import is_match
from tests.support.mongo_server.oplog import Change, Namespace
from tests.support.mongo_server.store import Collection
from tests.support.mongo_server.wire import Document

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
    return {
        name: value
        for name, value in context.body.items()
        if name != context.name and not name.startswith("$") and name not in _OF_EVERY_COMMAND
    }


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
    context.created(namespace, options)
    return {}


def _check_images(context: Context, options: Document) -> None:
    images = "changeStreamPreAndPostImages"
    if images in options and not context.deployment.topology.release.has_images:
        raise CommandError(40415, f"BSON field '{context.name}.{images}' is an unknown field.")


def _modify(context: Context) -> Document:
    uuid = _existing(context, context.namespace).uuid
    options = _options(context)
    _check_images(context, options)
    change = Change("modify", *context.namespace, uuid=uuid, description=options)
    context.commit(change)
    return {}


def _drop(context: Context) -> Document:
    namespace = context.namespace
    collection = context.collection(namespace)
    if collection is not None:
        context.commit(Change("drop", *namespace, uuid=collection.uuid))
        return {"nIndexesWas": len(collection.indexes), "ns": ".".join(namespace)}
    if context.deployment.topology.release.drops_what_is_not_there:
        return {}
    raise CommandError(26, "ns not found")


def _drop_database(context: Context) -> Document:
    database = context.database
    for namespace in context.deployment.store.namespaces():
        if namespace[0] == database:
            context.commit(Change("drop", *namespace, uuid=_existing(context, namespace).uuid))
    context.commit(Change("dropDatabase", database))
    return {"dropped": database}


def _rename(context: Context) -> Document:
    source = _namespace(context.body["renameCollection"])
    target = _namespace(context.body["to"])
    uuid = _existing(context, source).uuid
    existing = context.collection(target)
    description: dict[str, Any] = {"to": {"db": target[0], "coll": target[1]}}
    if existing is not None:
        if not context.body.get("dropTarget"):
            raise CommandError(48, "target namespace exists")
        description["dropTarget"] = Binary(existing.uuid.bytes, 4)
    context.commit(Change("rename", *source, uuid=uuid, to=target, description=description))
    return {}


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
        description = {"indexes": new}
        change = Change("createIndexes", *namespace, uuid=collection.uuid, description=description)
        context.commit(change)
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
    namespace = f"{context.database}.{name}"
    return {"cursor": {"id": Int64(0), "ns": namespace, "firstBatch": documents}}


def _list_indexes(context: Context) -> Document:
    collection = _existing(context, context.namespace)
    return _first_batch(context, context.namespace[1], list(collection.indexes.values()))


def _list_collections(context: Context) -> Document:
    found = []
    for database, name in context.deployment.store.namespaces():
        if database == context.database:
            collection = _existing(context, (database, name))
            uuid = Binary(collection.uuid.bytes, 4)
            kind = "view" if "viewOn" in collection.options else "collection"
            kind = "timeseries" if "timeseries" in collection.options else kind
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
