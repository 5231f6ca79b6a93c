"""The stage by which the server leaves out what is not captured, and a mark of a pipeline.

The server can use conditions on `operationType`, `ns.db` and `ns.coll` while it reads its oplog,
before it makes an event; on anything that is computed it cannot. So a list becomes such conditions
as far as it has a form for them, which lets through what is captured and perhaps more: the agent
looks at each event again (`Namespaces`). A wrong filter here would lose events in silence; too wide
a one only costs time.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bson import json_util

from mongo_agent.capture.namespaces import BUILT_IN, Namespaces
from sidecar.regular_expressions import ExpressionError, compile_bounded

Condition = dict[str, Any]
CHANGES = ("insert", "update", "replace", "delete")
"""Types of events about a document."""

# Classes of characters, references, groups with a meaning, repetitions that give nothing back:
# where the server's expressions differ from Python's, or may.
_DIALECT = re.compile(r"\\[A-Za-z0-9]|\(\?|\[\[|\[:|[*+?}]\+|\$|(?<!\[)\^")
# A plain database, a dot that is one, and the rest: the name of a database has no dot in it.
_IN_DATABASE = re.compile(r"(?P<database>[A-Za-z0-9_-]+)(?:\\\.|\[\.\])(?P<rest>.+)")


def match_stage(
    namespaces: Namespaces, operations: Collection[str] = CHANGES, others: Collection[str] = ()
) -> Condition:
    """The `$match` stage of a stream. `operations` are the types of events about documents that are
    wanted; `others` those of further types, which pass whatever they are about."""
    about_documents: Condition = {"operationType": {"$in": sorted(operations)}}
    conditions = [*_databases(namespaces), *_collections(namespaces)]
    if conditions:
        about_documents["$and"] = conditions
    if not others:
        return {"$match": about_documents}
    return {"$match": {"$or": [about_documents, {"operationType": {"$in": sorted(others)}}]}}


def fingerprint(stages: Sequence[Mapping[str, Any]]) -> str:
    """Equal for equal pipelines. A resume token is good only for the pipeline that gave it."""
    text = json_util.dumps(stages, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _databases(namespaces: Namespaces) -> list[Condition]:
    included = [_name(pattern, namespaces) for pattern in namespaces.include_databases]
    excluded = [_name(pattern, namespaces) for pattern in namespaces.exclude_databases]
    return [
        {"ns.db": {"$nin": sorted(BUILT_IN)}},
        *_any_of([name and {"ns.db": name} for name in included]),
        *_none_of([name and {"ns.db": name} for name in excluded]),
    ]


def _collections(namespaces: Namespaces) -> list[Condition]:
    included = [_collection(pattern, namespaces) for pattern in namespaces.include_collections]
    excluded = [_collection(pattern, namespaces) for pattern in namespaces.exclude_collections]
    return [*_any_of(included), *_none_of(excluded)]


def _any_of(conditions: Sequence[Condition | None]) -> list[Condition]:
    """A pattern that has no form lets everything through."""
    if not conditions or None in conditions:
        return []
    return [{"$or": conditions}]


def _none_of(conditions: Sequence[Condition | None]) -> list[Condition]:
    """A pattern that has no form keeps nothing back."""
    known = [condition for condition in conditions if condition]
    return [{"$nor": known}] if known else []


def _collection(pattern: str, namespaces: Namespaces) -> Condition | None:
    """A pattern over `database.collection`; None where it has no form for the two by themselves."""
    if namespaces.mode == "literal":
        database, _, collection = pattern.partition(".")
        return {"ns.db": {"$eq": database}, "ns.coll": {"$eq": collection}}
    split = _IN_DATABASE.fullmatch(pattern)
    # An alternative behind the dot would be one to the database too.
    if split is None or "|" in split["rest"] or not _is_expression(split["rest"]):
        return None
    database_name = _name(split["database"], namespaces)
    collection_name = _name(split["rest"], namespaces)
    if database_name is None or collection_name is None:
        return None
    return {"ns.db": database_name, "ns.coll": collection_name}


def _name(pattern: str, namespaces: Namespaces) -> Condition | None:
    """What a name is compared with; None where the server may understand a pattern otherwise."""
    if namespaces.mode == "literal":
        return {"$eq": pattern}
    if not pattern.isascii() or _DIALECT.search(pattern):
        return None
    return {"$regex": rf"^(?:{pattern})\z", "$options": "i"}


def _is_expression(pattern: str) -> bool:
    try:
        compile_bounded(pattern)
    except ExpressionError:
        return False
    return True
