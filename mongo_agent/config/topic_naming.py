"""The topic naming strategy of a configuration."""

from collections.abc import Iterator
from functools import partial

from mongo_agent.config.events import EventProperties
from mongo_agent.regular_expressions import compile_pattern
from mongo_agent.topic_naming import Naming, RegexNaming, default_topic, regex_naming, unicode_topic


def naming(properties: EventProperties) -> Naming:
    """The naming of properties without `naming_problems`."""
    prefix, delimiter = properties.topic_prefix, properties.topic_delimiter
    match properties.topic_naming_strategy:
        case "DefaultUnicodeTopicNamingStrategy":
            return partial(unicode_topic, prefix, delimiter=delimiter)
        case "DefaultRegexTopicNamingStrategy":
            assert properties.topic_regex is not None
            rule = regex_naming(properties.topic_regex, properties.topic_replacement or "")
            return partial(_replaced, rule, prefix, delimiter)
        case _:
            return partial(default_topic, prefix, delimiter=delimiter)


def _replaced(
    rule: RegexNaming, prefix: str, delimiter: str, database: str, collection: str
) -> str:
    return rule.name(default_topic(prefix, database, collection, delimiter))


def naming_problems(properties: EventProperties) -> Iterator[str]:
    """Errors of properties that contradict the naming strategy."""
    if not properties.is_topic_replaced:
        return
    lacking = [
        name
        for name, value in (
            ("topic.regex", properties.topic_regex),
            ("topic.replacement", properties.topic_replacement),
        )
        if not value
    ]
    for name in lacking:
        yield (
            f"`{name}` must be set for `topic.naming.strategy={properties.topic_naming_strategy}`."
        )
    if not lacking and properties.topic_regex is not None:
        try:
            regex_naming(properties.topic_regex, properties.topic_replacement or "")
        except ValueError as error:
            yield f"`topic.regex` and `topic.replacement` cannot be used: {error}."


def naming_warnings(properties: EventProperties) -> Iterator[str]:
    if properties.is_topic_replaced:
        yield (
            "`topic.naming.strategy`: in a topic of several collections, documents with the same "
            "`_id` have the same key, and compaction retains only one of them."
        )
        warning = compile_pattern(properties.topic_regex or "").warning
        if warning is not None:
            yield f"`topic.regex` {warning}."
