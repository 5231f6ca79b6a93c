"""What an update makes of a document, and how the oplog tells it (`updateDescription`).

Operators tell the paths that they touch; an update by pipeline tells the difference of the two
documents, so arrays that got shorter show as `truncatedArrays`.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bson import Int64

from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.expressions import ABSENT, evaluated
from tests.support.mongodb.server.key_string import order
from tests.support.mongodb.server.matching import is_match
from tests.support.mongodb.server.wire import Document, encode

Parts = tuple[str | int, ...]


@dataclass
class Description:
    """`updateDescription` in the making."""

    updated: Document = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    truncated: list[Document] = field(default_factory=list)
    # Paths that their text alone does not tell, by parts: an index of an array is an integer.
    disambiguated: dict[str, list[str | int]] = field(default_factory=dict)

    def document(self) -> Document:
        return {
            "updatedFields": self.updated,
            "removedFields": self.removed,
            "truncatedArrays": self.truncated,
            "disambiguatedPaths": self.disambiguated,
        }

    @property
    def size(self) -> int:
        """About that of the difference in the oplog."""
        lengths = [each["newSize"] for each in self.truncated]
        return len(encode({"u": self.updated, "d": dict.fromkeys(self.removed), "s": lengths}))

    def name(self, parts: Parts) -> str:
        """The path of `parts`. A field whose name has a dot or looks like an index makes it
        ambiguous; indexes alone do not."""
        path = ".".join(map(str, parts))
        if any(isinstance(part, str) and ("." in part or part.isdigit()) for part in parts):
            self.disambiguated[path] = list(parts)
        return path


def is_replacement(update: Any) -> bool:
    return isinstance(update, Mapping) and not any(name.startswith("$") for name in update)


_STAGES = ("$set", "$addFields", "$unset", "$replaceWith")


def check_stages(update: Any) -> None:
    """Raise for an unknown stage of a pipeline, whether or not a document matches."""
    for stage in update if isinstance(update, list) else ():
        name = next(iter(stage))
        if name not in _STAGES:
            raise CommandError(40324, f"Unrecognized pipeline stage name: '{name}'")


def check_operators(update: Any) -> None:
    """Raise for an unknown operator, whether or not a document matches."""
    if isinstance(update, list) or is_replacement(update):
        return
    for operator in update:
        if operator not in _OPERATORS and operator != "$setOnInsert":
            raise CommandError(9, f"Unknown modifier: {operator}")


def updated(
    before: Document, update: Any, *, is_insert: bool = False
) -> tuple[Document, Description]:
    """The document after operators or a pipeline, and what changed in it."""
    after = copy.deepcopy(before)
    description = Description()
    if isinstance(update, list):
        for stage in update:
            after = _stage(after, stage)
        _difference(before, after, (), description)
    else:
        for operator, arguments in update.items():
            if operator == "$setOnInsert" and not is_insert:
                continue
            name = "$set" if operator == "$setOnInsert" else operator
            for path, argument in arguments.items():
                _OPERATORS[name](after, path, argument, description)
    if not is_insert and order(before.get("_id")) != order(after.get("_id")):
        message = "Performing an update on the path '_id' would modify the immutable field '_id'"
        raise CommandError(66, message)
    return after, description


def value_at(document: Any, path: str) -> Any:
    for name in path.split("."):
        if isinstance(document, Mapping) and name in document:
            document = document[name]
        elif isinstance(document, list) and name.isdigit() and int(name) < len(document):
            document = document[int(name)]
        else:
            return ABSENT
    return document


def with_fields(document: Document, fields: Mapping[str, Any]) -> Document:
    """`$set` as a stage: expressions see the document as it was before."""
    after = copy.deepcopy(document)
    for path, expression in fields.items():
        value = evaluated(expression, document)
        if value is not ABSENT:
            put(after, path, copy.deepcopy(value))
    return after


def put(document: Any, path: str, value: Any) -> None:
    name, _, rest = path.partition(".")
    if isinstance(document, list):
        index = int(name)
        document.extend([None] * (index + 1 - len(document)))
        if rest and not isinstance(document[index], dict | list):
            document[index] = {}
        if rest:
            put(document[index], rest, value)
        else:
            document[index] = value
    elif isinstance(document, dict):
        if rest:
            put(document.setdefault(name, {}), rest, value)
        else:
            document[name] = value
    else:
        raise CommandError(28, f"Cannot create field '{name}' in a value that is no document")


def _is_same(left: Any, right: Any) -> bool:
    """Byte for byte: 0.0 and -0.0 are equal, and still two values."""
    return encode({"": left}) == encode({"": right})


def _parts(document: Any, path: str) -> Parts:
    parts: list[str | int] = []
    for name in path.split("."):
        if isinstance(document, list):
            parts.append(int(name))
            document = document[int(name)]
        else:
            parts.append(name)
            document = document[name]
    return tuple(parts)


def _set(document: Document, path: str, value: Any, description: Description) -> None:
    found = value_at(document, path)
    if found is not ABSENT and _is_same(found, value):
        return
    put(document, path, copy.deepcopy(value))
    description.updated[description.name(_parts(document, path))] = value


def _unset(document: Document, path: str, _: Any, description: Description) -> None:
    if value_at(document, path) is ABSENT:
        return
    parent_path, _, name = path.rpartition(".")
    parent = value_at(document, parent_path) if parent_path else document
    if isinstance(parent, list):
        _set(document, path, None, description)
    else:
        description.removed.append(description.name(_parts(document, path)))
        del parent[name]


def _arithmetic(name: str, result: Callable[[Any, Any], Any], absent: int) -> Callable[..., None]:
    def apply(document: Document, path: str, value: Any, description: Description) -> None:
        found = value_at(document, path)
        old = absent if found is ABSENT else found
        if isinstance(old, bool) or not isinstance(old, int | float):
            message = f"Cannot apply {name} to a value of non-numeric type: {path}"
            raise CommandError(14, message)
        number = result(old, value)
        if isinstance(old, Int64) or isinstance(value, Int64):
            number = Int64(number) if isinstance(number, int) else number
        _set(document, path, number, description)

    return apply


def _extremum(is_better: Callable[[bytes, bytes], bool]) -> Callable[..., None]:
    def apply(document: Document, path: str, value: Any, description: Description) -> None:
        found = value_at(document, path)
        if found is ABSENT or is_better(order(value), order(found)):
            _set(document, path, value, description)

    return apply


def _append(document: Document, path: str, values: list[Any], description: Description) -> None:
    array = value_at(document, path)
    if array is ABSENT:
        _set(document, path, values, description)
        return
    if not isinstance(array, list):
        raise CommandError(2, f"The field '{path}' must be an array")
    for value in values:
        _set(document, f"{path}.{len(array)}", value, description)


def _push(document: Document, path: str, value: Any, description: Description) -> None:
    each = isinstance(value, Mapping) and "$each" in value
    _append(document, path, list(value["$each"]) if each else [value], description)


def _add_to_set(document: Document, path: str, value: Any, description: Description) -> None:
    each = isinstance(value, Mapping) and "$each" in value
    found = value_at(document, path)
    known = {order(item) for item in found} if isinstance(found, list) else set[bytes]()
    new = []
    for item in value["$each"] if each else [value]:
        if order(item) not in known:
            known.add(order(item))
            new.append(item)
    _append(document, path, new, description)


def _pull(document: Document, path: str, value: Any, description: Description) -> None:
    array = value_at(document, path)
    if not isinstance(array, list):
        return

    def goes(item: Any) -> bool:
        if isinstance(value, Mapping):
            is_operators = any(name.startswith("$") for name in value)
            return is_match({"": value}, {"": item}) if is_operators else is_match(value, item)
        return order(item) == order(value)

    _set(document, path, [item for item in array if not goes(item)], description)


def _pop(document: Document, path: str, value: Any, description: Description) -> None:
    array = value_at(document, path)
    if isinstance(array, list) and array:
        _set(document, path, array[:-1] if value > 0 else array[1:], description)


def _rename(document: Document, path: str, target: str, description: Description) -> None:
    found = value_at(document, path)
    if found is not ABSENT:
        _unset(document, path, None, description)
        _set(document, target, found, description)


_OPERATORS: dict[str, Callable[[Document, str, Any, Description], None]] = {
    "$set": _set,
    "$unset": _unset,
    "$inc": _arithmetic("$inc", lambda old, value: old + value, 0),
    "$mul": _arithmetic("$mul", lambda old, value: old * value, 0),
    "$min": _extremum(lambda new, old: new < old),
    "$max": _extremum(lambda new, old: new > old),
    "$push": _push,
    "$addToSet": _add_to_set,
    "$pull": _pull,
    "$pop": _pop,
    "$rename": _rename,
}


def _stage(document: Document, stage: Mapping[str, Any]) -> Document:
    """One stage of an update by pipeline."""
    ((name, argument),) = stage.items()
    match name:
        case "$set" | "$addFields":
            document = with_fields(document, argument)
        case "$unset":
            for path in [argument] if isinstance(argument, str) else argument:
                _unset(document, path, None, Description())
        case "$replaceWith":
            document = {"_id": document["_id"], **evaluated(argument, document)}
        case _:
            raise CommandError(40324, f"Unrecognized pipeline stage name: '{name}'")
    return document


def _difference(before: Any, after: Any, path: Parts, description: Description) -> None:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in before:
            if name not in after:
                description.removed.append(description.name((*path, name)))
        for name, value in after.items():
            if name in before:
                _difference(before[name], value, (*path, name), description)
            else:
                description.updated[description.name((*path, name))] = value
    elif isinstance(before, list) and isinstance(after, list):
        if len(after) < len(before):
            name = description.name(path)
            description.truncated.append({"field": name, "newSize": len(after)})
        for index, value in enumerate(after):
            if index < len(before):
                _difference(before[index], value, (*path, index), description)
            else:
                description.updated[description.name((*path, index))] = value
    elif not _is_same(before, after):
        description.updated[description.name(path)] = after
