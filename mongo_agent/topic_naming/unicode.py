"""Names that keep what Kafka does not take: DefaultUnicodeTopicNamingStrategy.

Such letters, and `_` itself, become `_u` with their number, so `größe` and `gr__e` have topics of
their own.
"""

import string

from mongo_agent.topic_naming.default import replace_characters

_ALLOWED = frozenset(string.ascii_letters + string.digits + ".-")
_SHORT = 2


def unicode_topic(prefix: str, database: str, collection: str, delimiter: str = ".") -> str:
    """Three digits stay three: Debezium fills up shorter numbers alone, and by two zeros."""
    return replace_characters(delimiter.join((prefix, database, collection)), _ALLOWED, _escape)


def _escape(unit: int) -> str:
    digits = f"{unit:x}"
    return f"_u00{digits}" if len(digits) <= _SHORT else f"_u{digits}"
