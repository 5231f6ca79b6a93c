"""DefaultTopicNamingStrategy: `prefix.database.collection`, with `_` for rejected characters."""

import string
from collections.abc import Callable, Iterator

from sidecar.properties.topic_names import LONGEST_TOPIC

_ALLOWED = frozenset(string.ascii_letters + string.digits + "._-")


def default_topic(prefix: str, database: str, collection: str, delimiter: str = ".") -> str:
    """The topic of a collection. Characters outside the BMP become `__`, as in Java."""
    return replace_characters(
        delimiter.join((prefix, database, collection)), _ALLOWED, lambda _: "_"
    )


def replace_characters(text: str, allowed: frozenset[str], instead: Callable[[int], str]) -> str:
    """Replace each UTF-16 code unit that is not allowed, and truncate to the limit."""
    name = "".join(each if each in allowed else instead(ord(each)) for each in _units(text))
    return name[:LONGEST_TOPIC]


def _units(text: str) -> Iterator[str]:
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return map(chr, units)
