"""Driver values in a form that compares exactly."""

import math
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from cassandra.util import Duration, SortedSet


def plain(value: Any) -> Any:
    """Hashable; NaN equals NaN, 0.0 differs from -0.0, 1.0 from 1.00; sets and maps unordered."""
    return _plain(value, is_clustering=False)


def plain_clustering(value: Any) -> Any:
    """As `plain`, but that 1.0 equals 1.00: both are one row to Cassandra, and under which of the
    two names it gives that row depends on flushes (`AtomicBTreePartition` keeps the first of a
    memtable, `Row.Merger` that of the last of its sources)."""
    return _plain(value, is_clustering=True)


def _plain(value: Any, *, is_clustering: bool) -> Any:
    def each(values: Iterable[Any]) -> Iterator[Any]:
        return (_plain(member, is_clustering=is_clustering) for member in values)

    match value:
        case float():
            return ("float", "nan" if math.isnan(value) else value.hex())
        case Decimal() if is_clustering:
            return ("decimal", value)
        case Decimal():
            return ("decimal", value.as_tuple())
        case Duration():
            return ("duration", value.months, value.days, value.nanoseconds)
        case SortedSet() | set() | frozenset():
            return ("set", frozenset(each(value)))
        case Mapping():
            return ("map", frozenset(tuple(each(item)) for item in value.items()))
        case list():
            return ("list", tuple(each(value)))
        case tuple():
            return ("tuple", tuple(each(value)))
        case _:
            return value
