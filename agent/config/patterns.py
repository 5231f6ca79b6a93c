"""Regular expressions over `keyspace.table`, with the syntax of the segment reader."""

from collections.abc import Iterable

from commitlog import EventFormat


def validated_expressions(expressions: tuple[str, ...]) -> tuple[str, ...]:
    """The expressions unchanged. Raises ValueError for an invalid one."""
    for expression in expressions:
        try:
            _filter((expression,), ())
        except ValueError as error:
            raise ValueError(
                f"must be regular expressions, separated by commas; `{expression}` is invalid "
                f"({str(error).splitlines()[-1]})"
            ) from error
    return expressions


def is_published(table: str, include: Iterable[str], exclude: Iterable[str]) -> bool:
    """Whether the lists include `keyspace.table`."""
    keyspace, _, name = table.partition(".")
    return _filter(include, exclude).admits(keyspace, name)


def _filter(include: Iterable[str], exclude: Iterable[str]) -> EventFormat:
    return EventFormat(
        topic_prefix="", cluster="", node_id="", include=tuple(include), exclude=tuple(exclude)
    )
