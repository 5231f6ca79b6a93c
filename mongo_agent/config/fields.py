"""Field paths of `field.exclude.list` and `field.renames`.

A path is `database.collection.field.nested`; `*` matches any text in the names of database and
collection. A rename appends `:` and the new name of the field.
"""

from typing import Annotated

from pydantic import AfterValidator

from sidecar.properties.types import CommaList

_FEWEST_PARTS = 3


def _path_problem(path: str) -> str | None:
    parts = path.split(".")
    if len(parts) < _FEWEST_PARTS or not all(parts):
        return "is not of the form `database.collection.field`"
    if any("*" in part for part in parts[2:]):
        return "has a `*` in a field name; only database and collection names may contain one"
    return None


def _exclusions(values: tuple[str, ...]) -> tuple[str, ...]:
    for entry in values:
        problem = _path_problem(entry)
        if problem is not None:
            raise ValueError(f"must be a list of fields; `{entry}` {problem}")
    return values


def _renamings(values: tuple[str, ...]) -> tuple[str, ...]:
    for entry in values:
        path, colon, name = entry.rpartition(":")
        problem = _path_problem(path) if colon else "has no `:` followed by a new name"
        if problem is None and (not name or "." in name):
            problem = "needs one name without dots after the `:`"
        if problem is None and name == path.rpartition(".")[2]:
            problem = "renames the field to its own name"
        if problem is not None:
            raise ValueError(
                f"must be a list of renames `database.collection.field:name`; `{entry}` {problem}"
            )
    return values


FieldList = Annotated[CommaList, AfterValidator(_exclusions)]
RenamingList = Annotated[CommaList, AfterValidator(_renamings)]
