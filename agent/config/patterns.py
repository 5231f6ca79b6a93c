"""Regular expressions over `keyspace.table`."""

import re
from collections.abc import Iterable


def compiled_alone(expressions: tuple[str, ...]) -> tuple[str, ...]:
    """The expressions as they are. Raises ValueError for one that is none."""
    for expression in expressions:
        try:
            re.compile(expression)
        except re.error as error:
            raise ValueError(
                f"must be regular expressions, separated by commas; {expression!r} is none "
                f"({error})"
            ) from error
    return expressions


def is_published(table: str, include: Iterable[str], exclude: Iterable[str]) -> bool:
    """Whether the lists let `keyspace.table` pass; the same rule as the reader's."""
    included = list(include)
    if included and not any(re.fullmatch(expression, table) for expression in included):
        return False
    return not any(re.fullmatch(expression, table) for expression in exclude)
