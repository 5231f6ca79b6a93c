"""`prefix.database.collection`, `_` for what Kafka does not take: DefaultTopicNamingStrategy."""

import string
from collections.abc import Callable, Iterator

MAX_TOPIC_LENGTH = 249
"""Letters of a topic's name, of which there may be so many."""

_ALLOWED = frozenset(string.ascii_letters + string.digits + "._-")


def default_topic(prefix: str, database: str, collection: str, delimiter: str = ".") -> str:
    """Each character that is not allowed becomes one `_`, and two where Java has two."""
    return replace_characters(
        delimiter.join((prefix, database, collection)), _ALLOWED, lambda _: "_"
    )


def replace_characters(text: str, allowed: frozenset[str], instead: Callable[[int], str]) -> str:
    """The text with something else for each UTF-16 code unit that is not allowed, and as much of it
    as a topic's name may have."""
    name = "".join(each if each in allowed else instead(ord(each)) for each in _units(text))
    return name[:MAX_TOPIC_LENGTH]


def _units(text: str) -> Iterator[str]:
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return map(chr, units)
