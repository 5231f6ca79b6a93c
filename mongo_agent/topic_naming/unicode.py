"""DefaultUnicodeTopicNamingStrategy: escapes for characters that Kafka rejects.

Such characters, and `_` itself, become `_u` with their code, so `größe` and `gr__e` have different
topics.
"""

import string

from mongo_agent.topic_naming.default import replace_characters

_ALLOWED = frozenset(string.ascii_letters + string.digits + ".-")
_SHORT = 2


def unicode_topic(prefix: str, database: str, collection: str, delimiter: str = ".") -> str:
    """The topic of a collection. Like Debezium, pads one or two digits with two zeros."""
    return replace_characters(delimiter.join((prefix, database, collection)), _ALLOWED, _escape)


def _escape(unit: int) -> str:
    digits = f"{unit:x}"
    return f"_u00{digits}" if len(digits) <= _SHORT else f"_u{digits}"
