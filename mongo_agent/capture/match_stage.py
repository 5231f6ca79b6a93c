"""The `$match` stage that filters events on the server, and fingerprints of pipelines.

The server evaluates conditions on `operationType`, `ns.db` and `ns.coll` while it scans the oplog,
before it builds an event. The include and exclude lists become such conditions where possible. The
stage may pass uncaptured events, so the agent filters each event again (`Namespaces`). A filter
that is too narrow would lose events silently; a filter that is too wide only costs time.
"""

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bson import json_util

from mongo_agent.capture.namespaces import BUILT_IN, Namespaces
from mongo_agent.regular_expressions import ExpressionError, compile_pattern

Condition = dict[str, Any]
CHANGES = ("insert", "update", "replace", "delete")
"""The `operationType`s of document events."""

# Character classes, references, special groups, set operators, nested sets, `{,3}` and possessive
# repetition: syntax whose meaning differs, or may differ, between the server and the agent.
_DIALECT = re.compile(r"\\[A-Za-z0-9\]]|\(\?|&&|\[\^?\]?[^\[\]]*+\[|\[:|\{,|[*+?}]\+|\$|(?<!\[)\^")
# A plain database name, a literal dot, and the rest; database names contain no dot.
_IN_DATABASE = re.compile(r"(?P<database>[A-Za-z0-9_-]+)(?:\\\.|\[\.\])(?P<rest>.+)")


def match_stage(
    namespaces: Namespaces, operations: Collection[str] = CHANGES, others: Collection[str] = ()
) -> Condition:
    """Build the `$match` stage of a stream.

    It passes document events whose type is in `operations` and whose collection matches the lists,
    and all events whose type is in `others`.
    """
    about_documents: Condition = {"operationType": {"$in": sorted(operations)}}
    about_documents["$and"] = [
        {"ns.db": {"$nin": sorted(BUILT_IN)}},
        *_any_of([_database(each, namespaces) for each in namespaces.include_databases]),
        *_none_of([_database(each, namespaces) for each in namespaces.exclude_databases]),
        *_any_of([_collection(each, namespaces) for each in namespaces.include_collections]),
        *_none_of([_collection(each, namespaces) for each in namespaces.exclude_collections]),
    ]
    if not others:
        return {"$match": about_documents}
    return {"$match": {"$or": [about_documents, {"operationType": {"$in": sorted(others)}}]}}


def fingerprint(stages: Sequence[Mapping[str, Any]]) -> str:
    """Hash the pipeline; a resume token is valid only for the pipeline that returned it."""
    text = json_util.dumps(stages, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _any_of(conditions: Sequence[Condition | None]) -> list[Condition]:
    """Combine include conditions; with an untranslatable pattern, every event passes."""
    if not conditions or None in conditions:
        return []
    return [{"$or": conditions}]


def _none_of(conditions: Sequence[Condition | None]) -> list[Condition]:
    """Combine exclude conditions; an untranslatable pattern excludes nothing."""
    known = [condition for condition in conditions if condition]
    return [{"$nor": known}] if known else []


def _database(pattern: str, namespaces: Namespaces) -> Condition | None:
    name = _name(pattern, namespaces)
    return name and {"ns.db": name}


def _collection(pattern: str, namespaces: Namespaces) -> Condition | None:
    """Translate a `database.collection` pattern, or return None if it cannot be split in two."""
    if namespaces.mode == "literal":
        database, _, collection = pattern.partition(".")
        return {"ns.db": {"$eq": database}, "ns.coll": {"$eq": collection}}
    split = _IN_DATABASE.fullmatch(pattern)
    # An alternation after the dot would apply to the database, too.
    if split is None or "|" in split["rest"] or not _is_expression(split["rest"]):
        return None
    database_name = _name(split["database"], namespaces)
    collection_name = _name(split["rest"], namespaces)
    if database_name is None or collection_name is None:
        return None
    return {"ns.db": database_name, "ns.coll": collection_name}


def _name(pattern: str, namespaces: Namespaces) -> Condition | None:
    """Translate a name pattern, or return None if the server may interpret it differently."""
    if namespaces.mode == "literal":
        return {"$eq": pattern}
    if not pattern.isascii() or _DIALECT.search(pattern):
        return None
    return {"$regex": rf"^(?:{pattern})\z", "$options": "i"}


def _is_expression(pattern: str) -> bool:
    try:
        compile_pattern(pattern)
    except ExpressionError:
        return False
    return True
