"""Names of Kafka topics in values: which characters and how many."""

import re
from collections.abc import Iterable
from typing import Annotated

from pydantic import AfterValidator

LONGEST_TOPIC = 249
"""Characters of a topic name that Kafka allows."""
_LONGEST_PREFIX = LONGEST_TOPIC - len(".k.t")
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9._-]")


def _topic_prefix(value: str) -> str:
    refused = _NOT_ALLOWED.search(value)
    if refused is not None:
        hint = ""
        if re.search(r"\s[#!]", value):
            hint = "; a properties file has no comment at the end of a value"
        raise ValueError(
            f"must have only letters, digits, `.`, `_` and `-`, and has `{refused[0]}`{hint}"
        )
    if len(value) > _LONGEST_PREFIX:
        raise ValueError(
            f"must be at most {_LONGEST_PREFIX} characters and has {len(value)}: Kafka allows "
            f"{LONGEST_TOPIC} for a topic, whose name goes on after the prefix"
        )
    return value


TopicPrefix = Annotated[str, AfterValidator(_topic_prefix)]
"""First part of topic names: Kafka's characters, with room for the rest of the name."""


def overlong_topics(topics: Iterable[str]) -> tuple[str, ...]:
    """The names that are longer than Kafka allows, in order."""
    return tuple(topic for topic in topics if len(topic) > LONGEST_TOPIC)
