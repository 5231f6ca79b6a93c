"""Fields of documents as `field.exclude.list` and `field.renames` name them.

`database.collection.field.nested`; in the names of the database and the collection `*` stands for
any text. A renaming has `:` and the field's new name behind it.
"""

from typing import Annotated

from pydantic import AfterValidator

from sidecar.properties import CommaList

_FEWEST_PARTS = 3


def _path_problem(path: str) -> str | None:
    parts = path.split(".")
    if len(parts) < _FEWEST_PARTS or not all(parts):
        return "is not of the form `database.collection.field`"
    if any("*" in part for part in parts[2:]):
        return "has a `*` in the name of a field; it stands for databases and collections alone"
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
        problem = _path_problem(path) if colon else "has no `:` with a new name behind it"
        if problem is None and (not name or "." in name):
            problem = "needs one name without dots behind the `:`"
        if problem is None and name == path.rpartition(".")[2]:
            problem = "gives the field the name that it has"
        if problem is not None:
            raise ValueError(
                f"must be a list of renamings `database.collection.field:name`; `{entry}` {problem}"
            )
    return values


FieldList = Annotated[CommaList, AfterValidator(_exclusions)]
RenamingList = Annotated[CommaList, AfterValidator(_renamings)]
