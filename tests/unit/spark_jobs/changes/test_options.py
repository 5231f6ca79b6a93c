"""Options of the changes job."""

import pytest

from sidecar.errors import ConfigError
from spark_jobs.changes.options import ChangesJobOptions
from tests.support.spark.options import options_of

GOOD = {
    "kafka.bootstrap.servers": "127.0.0.1:1",
    "checkpoint": "/c",
    "output": "/store",
    "schema.file": "/schema.cql",
    "topic.prefix": "c1",
}
TO_DELTA = {**GOOD, "sink": "delta", "changes.table": "/changes/{keyspace}/{table}"}
REGISTRY = {"converter": "avro", "converter.schema.registry.url": "http://127.0.0.1:2"}
BAD = {
    "no prefix": ({**GOOD, "topic.prefix": ""}, "`topic.prefix`"),
    "sink": ({**GOOD, "sink": "hudi"}, "must be one or two of kafka, delta, iceberg"),
    "two formats": ({**TO_DELTA, "sink": "delta,iceberg"}, "only one of `delta` and `iceberg`"),
    "no catalog": (
        {**TO_DELTA, "sink": "iceberg", "changes.table": "{table}"},
        "`changes.table` must begin with a catalog",
    ),
    "no table": ({**GOOD, "sink": "kafka,delta"}, "`changes.table` must be set for `sink=delta`"),
    "an unused table": ({**TO_DELTA, "sink": "kafka"}, "and only then"),
    "one table for all": ({**TO_DELTA, "changes.table": "/changes"}, "must contain `{table}`"),
    "an unknown name": ({**GOOD, "topic.template": "{database}.x"}, "contains `{database}`; use"),
    "an invalid template": ({**GOOD, "topic.template": "{prefix"}, "must be a template such as"),
    "overlap": ({**TO_DELTA, "changes.table": "/store/{table}"}, "`output` and `changes.table`"),
    "no broker": (
        {name: value for name, value in GOOD.items() if name != "kafka.bootstrap.servers"},
        "`kafka.bootstrap.servers` or `sink.kafka.bootstrap.servers` must be set",
    ),
    "no registry": ({**GOOD, "converter": "avro"}, "`converter.schema.registry.url` must be set"),
    "a registry for json": (
        {**GOOD, **REGISTRY, "converter": "json"},
        "`converter.schema.registry.url` is not a setting of `converter=json`",
    ),
    "schemas": (
        {**GOOD, "converter.schemas.enable": "yes"},
        "`converter.schemas.enable` must be `true` or `false`, not `yes`",
    ),
    "acks": ({**GOOD, "sink.kafka.acks": "1"}, "`sink.kafka.acks` must be `all`"),
    "two subscriptions": (
        {**GOOD, "topics": "a", "topics.pattern": "b"},
        "`topics` or `topics.pattern` must be set, but not both",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_changes_option_error_describes_mistake(name: str) -> None:
    settings, expected = BAD[name]
    with pytest.raises(ConfigError) as raised:
        options_of(ChangesJobOptions, settings)
    assert expected in str(raised.value).replace(" (command line)", "")


def test_changes_job_topics_are_optional() -> None:
    assert not options_of(ChangesJobOptions, GOOD).has_source
    assert options_of(ChangesJobOptions, {**GOOD, "topics": "a"}).has_source


def test_target_names_follow_templates() -> None:
    options = options_of(ChangesJobOptions, {**TO_DELTA, "topic.template": "{table}-changes"})
    assert options.topic_of("shop", "orders") == "orders-changes"
    assert options.changes_table_of("shop", "orders") == "/changes/shop/orders"
    assert options_of(ChangesJobOptions, GOOD).topic_of("shop", "orders") == "c1.shop.orders"


def test_subject_strategy_is_set_per_side() -> None:
    strategies = {
        "converter.key.subject.name.strategy": "RecordNameStrategy",
        "converter.value.subject.name.strategy": "TopicRecordNameStrategy",
    }
    registries = options_of(ChangesJobOptions, {**GOOD, **REGISTRY, **strategies}).registries()
    assert {side: found.strategy.value for side, found in registries.items()} == {
        "key": "RecordNameStrategy",
        "value": "TopicRecordNameStrategy",
    }
