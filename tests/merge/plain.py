"""Driver values in a form in which equal means the same."""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from cassandra.util import Duration, SortedSet


def plain(value: Any) -> Any:
    """Hashable; NaN equals NaN, 0.0 differs from -0.0, 1.0 from 1.00; sets and maps unordered."""
    match value:
        case float():
            return ("float", "nan" if math.isnan(value) else value.hex())
        case Decimal():
            return ("decimal", value.as_tuple())
        case Duration():
            return ("duration", value.months, value.days, value.nanoseconds)
        case SortedSet() | set() | frozenset():
            return ("set", frozenset(map(plain, value)))
        case Mapping():
            return ("map", frozenset((plain(k), plain(v)) for k, v in value.items()))
        case list():
            return ("list", tuple(map(plain, value)))
        case tuple():
            return ("tuple", tuple(map(plain, value)))
        case _:
            return value
