"""Topic names, compared with those of Debezium 3.6.1's classes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mongo_agent.config.loading import MongoConfig
from mongo_agent.topic_naming import default_topic, regex_naming, unicode_topic
from sidecar.properties.types import LONGEST_TOPIC
from tests.support.mongodb.encodings import copied, encoder
from tests.support.mongodb.properties import Settings, load, problems
from tests.support.mongodb.running_agent import RunAgent
from tests.support.mongodb.server.client import Client

STRATEGY = "topic.naming.strategy"
UNICODE = "io.debezium.schema.DefaultUnicodeTopicNamingStrategy"
REGEX = "io.debezium.schema.DefaultRegexTopicNamingStrategy"
COLLECTIONS = ("orders", "orders.2024", "ab", "größe")


@pytest.mark.parametrize(
    ("database", "collection", "plain", "escaped"),
    [
        ("shop", "orders.2024", "p.shop.orders.2024", "p.shop.orders.2024"),
        ("my_db", "a-b", "p.my_db.a-b", "p.my_u005fdb.a-b"),
        ("shop", "größe", "p.shop.gr__e", "p.shop.gr_u00f6_u00dfe"),
        ("shop", "ā中", "p.shop.__", "p.shop._u101_u4e2d"),
        ("shop", "a b$c", "p.shop.a_b_c", "p.shop.a_u0020b_u0024c"),
        ("shop", "\U0001f600", "p.shop.__", "p.shop._ud83d_ude00"),
        ("shop", "x" * 300, f"p.shop.{'x' * 242}", f"p.shop.{'x' * 242}"),
    ],
)
def test_topic_names_replace_invalid_characters(
    database: str, collection: str, plain: str, escaped: str
) -> None:
    assert default_topic("p", database, collection) == plain
    assert unicode_topic("p", database, collection) == escaped


def test_delimiter_is_part_of_the_topic_name() -> None:
    assert default_topic("p", "my_db", "a-b", "_") == "p_my_db_a-b"
    assert unicode_topic("p", "my_db", "a-b", "_") == "p_u005fmy_u005fdb_u005fa-b"


@pytest.mark.parametrize(
    ("regex", "text", "names"),
    [
        (
            "p[.]shop[.](orders)(.*)",
            "all.$1",
            ("all.orders", "all.orders", "p.shop.ab", "p.shop.gr__e"),
        ),
        (
            "(p)[.](?<db>[^.]+)[.](.*)",
            "${db}-$3$1",
            ("shop-ordersp", "shop-orders.2024p", "shop-abp", "shop-gr__ep"),
        ),
        ("(.*)", "$12", ("p.shop.orders2", "p.shop.orders.20242", "p.shop.ab2", "p.shop.gr__e2")),
        ("p.shop.a|p.shop.ab", "x", ("p.shop.orders", "p.shop.orders.2024", "xb", "p.shop.gr__e")),
        ("(p)(z)?.*", "$1$2q", ("pq",) * 4),
        ("p.*", r"a\-b", ("a-b",) * 4),
        ("(?i)P[.]SHOP[.](.+)", "s.$1", ("s.orders", "s.orders.2024", "s.ab", "s.gr__e")),
        (
            ".*[.]a(?=b).*",
            "ahead",
            ("p.shop.orders", "p.shop.orders.2024", "ahead", "p.shop.gr__e"),
        ),
    ],
)
def test_regex_strategy_renames_topics(regex: str, text: str, names: Sequence[str]) -> None:
    rule = regex_naming(regex, text)
    assert tuple(rule.name(default_topic("p", "shop", each)) for each in COLLECTIONS) == tuple(
        names
    )


def test_empty_regex_result_keeps_the_topic_name() -> None:
    assert regex_naming("p[.]shop(x)?.*", "$1").name("p.shop.a") == "p.shop.a"


names = st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=40)


@given(names, names)
def test_escaped_names_distinguish_collections(one: str, other: str) -> None:
    """Debezium writes code points of three digits without padding, so the test excludes them."""
    if any(0x100 <= ord(each) <= 0xFFF for each in one + other):
        return
    first, second = unicode_topic("p", "d", one), unicode_topic("p", "d", other)
    is_cut = max(len(first), len(second)) == LONGEST_TOPIC
    assert is_cut or (first == second) == (one == other)


def topic(config: MongoConfig, collection: str, **choices: Any) -> str:
    making = encoder(topic_prefix="t", topic_delimiter=config.properties.topic_delimiter, **choices)
    ((name, *_),) = copied(making, {"_id": 1}, collection=collection).messages(0, 1)
    return name


@pytest.mark.parametrize("name", ["orders", "a.b", "größe", "a b$c", "\U0001f600s", "x" * 300])
@pytest.mark.parametrize("delimiter", [".", "-"])
def test_encoder_names_default_topics_itself(tmp_path: Path, name: str, delimiter: str) -> None:
    config = load(tmp_path, {"topic.delimiter": delimiter})
    assert topic(config, name) == config.topic_of("shop", name)


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({STRATEGY: UNICODE}, "t.shop.my_u005forders"),
        ({STRATEGY: "DefaultUnicodeTopicNamingStrategy"}, "t.shop.my_u005forders"),
        (
            {STRATEGY: REGEX, "topic.regex": r"t[.](.*)", "topic.replacement": "all.$1"},
            "all.shop.my_orders",
        ),
    ],
)
def test_encoder_requests_custom_topics(tmp_path: Path, settings: Settings, wanted: str) -> None:
    config = load(tmp_path, settings)
    assert topic(config, "my_orders", topics=config.topic_of) == wanted


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({STRATEGY: "io.debezium.schema.SchemaTopicNamingStrategy"}, "into one topic"),
        ({STRATEGY: "io.debezium.schema.SchemaUnicodeTopicNamingStrategy"}, "into one topic"),
        ({STRATEGY: "com.shop.Topics"}, "names an unsupported class; use one of"),
        ({STRATEGY: REGEX, "topic.regex": "a"}, "`topic.replacement` must be set"),
        ({STRATEGY: REGEX, "topic.replacement": "a"}, "`topic.regex` must be set"),
        (
            {STRATEGY: REGEX, "topic.regex": "(", "topic.replacement": "a"},
            "'(' is not a regular expression",
        ),
        (
            {STRATEGY: REGEX, "topic.regex": "a", "topic.replacement": "$1"},
            "the group 1 does not exist",
        ),
        (
            {STRATEGY: REGEX, "topic.regex": "a", "topic.replacement": "${x}"},
            "refers to the unknown group 'x'",
        ),
        ({STRATEGY: REGEX, "topic.regex": "a", "topic.replacement": "a$"}, "has an incomplete '$'"),
        (
            {STRATEGY: REGEX, "topic.regex": "a", "topic.replacement": "a/b"},
            "contains characters that topics do not allow",
        ),
    ],
)
def test_invalid_topic_naming_is_reported(tmp_path: Path, settings: Settings, part: str) -> None:
    (problem,) = problems(tmp_path, settings)
    assert part in problem


@pytest.mark.parametrize(
    ("settings", "part"),
    [
        ({"topic.regex": "a"}, "`topic.regex` ("),
        (
            {STRATEGY: REGEX, "topic.regex": "a", "topic.replacement": "b"},
            "documents with the same `_id` have the same key",
        ),
        ({"topic.key.enforce.uniqueness": "true"}, "does not extend keys of MongoDB"),
    ],
)
def test_ambiguous_setting_is_a_warning(tmp_path: Path, settings: Settings, part: str) -> None:
    (warning,) = load(tmp_path, settings).warnings
    assert part in warning


def test_snapshot_change_and_collection_events_share_one_topic(
    writer: Client, run_agent: RunAgent
) -> None:
    writer.shop.orders_2024.insert_one({"_id": 1})
    by_year = {
        "topic_naming_strategy": REGEX,
        "topic_regex": r"p[.]shop[.](\w+)_(\d+)",
        "topic_replacement": "$1.of.$2",
        "event_layout": "mongodb",
        "snapshot_mode": "initial",
    }
    with run_agent(**by_year) as agent:
        agent.wait_for(1)
        writer.shop.orders_2024.insert_one({"_id": 2})
        writer.shop.orders_2024.drop()
        published = agent.wait_for(3)
    assert [(each.topic, each.kind) for each in published] == [
        ("orders.of.2024", "read"),
        ("orders.of.2024", "insert"),
        ("orders.of.2024", "schema"),
    ]
