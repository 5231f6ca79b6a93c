"""Names of Kafka topics in values: allowed characters and length."""

import re
from typing import Annotated

from pydantic import AfterValidator

LONGEST_TOPIC = 249
"""Maximum length of a topic name in Kafka."""
_LONGEST_PREFIX = LONGEST_TOPIC - len(".k.t")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_NOT_ALLOWED = re.compile(r"[^A-Za-z0-9._-]")


def _topic_prefix(value: str) -> str:
    if _NOT_ALLOWED.search(value):
        hint = "; put comments on a separate line" if re.search(r"\s[#!]", value) else ""
        raise ValueError(f"may only contain letters, digits, `.`, `_` and `-`{hint}")
    if len(value) > _LONGEST_PREFIX:
        raise ValueError(
            f"has {len(value)} characters; at most {_LONGEST_PREFIX} are allowed: Kafka allows "
            f"{LONGEST_TOPIC} for a topic name, which starts with the prefix"
        )
    return value


def _topic_name(value: str | None) -> str | None:
    if value is not None and not (_TOPIC.fullmatch(value) and value.strip(".")):
        raise ValueError("must have at most 249 letters, digits, `.`, `_` and `-`")
    return value


TopicName = Annotated[str | None, AfterValidator(_topic_name)]
"""A whole topic name; None: no topic."""
TopicPrefix = Annotated[str, AfterValidator(_topic_prefix)]
"""First part of topic names: Kafka's characters, with room for the rest of the name."""
