"""Options of dedupe as a job."""

import pytest

from sidecar.errors import ConfigError
from tests.support.spark.dedupe_stream import job_options

GOOD = {"checkpoint": "/c", "sink_delta_path": "/t"}
TO_KAFKA = {"checkpoint": "/c", "sink": "kafka", "sink_topic": "once"}
BAD = {
    "identity": ({**GOOD, "identity": "row"}, "must be 'event' or 'cell', not `row`"),
    "ttl": ({**GOOD, "ttl_ms": "1"}, "must be at least 2"),
    "sink": ({**GOOD, "sink": "iceberg"}, "must be `delta`, `kafka` or `delta,kafka`"),
    "no path": ({"checkpoint": "/c"}, "`sink.delta.path` must be set for the sink `delta`"),
    "a path too many": ({**TO_KAFKA, "sink_delta_path": "/t"}, "and only then"),
    "no topic": ({"checkpoint": "/c", "sink": "kafka"}, "must be set for the sink `kafka`"),
    "two topics": ({**TO_KAFKA, "sink_topic_prefix": "x"}, "and not both"),
    "nowhere aside": ({**GOOD, "records_without_id": "aside"}, "`aside.path` must be set"),
    "aside for nothing": ({**GOOD, "aside_path": "/a"}, "and only then"),
    "a loop": ({**TO_KAFKA, "sink_topic": "shop.orders"}, "which this job reads: use another"),
    "a loop by a pattern": (
        {**TO_KAFKA, "topics": "", "topics_pattern": ".*"},
        "leads to `once`, which this job reads",
    ),
    "a loop by a prefix": (
        {"checkpoint": "/c", "sink": "kafka", "sink_topic_prefix": "x.", "topics": ""}
        | {"topics_pattern": ".*"},
        "`sink.topic.prefix`",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes_are_named(name: str) -> None:
    settings, expected = BAD[name]
    with pytest.raises(ConfigError) as raised:
        job_options(**settings)
    assert expected in str(raised.value)


def test_the_producer_takes_after_the_source() -> None:
    same = job_options(**TO_KAFKA, sink_kafka_compression_type="zstd")
    assert same.producer_settings() == {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "kafka.compression.type": "zstd",
    }
    other = job_options(
        **TO_KAFKA, sink_kafka_bootstrap_servers="k:1", kafka_security_protocol="SSL"
    )
    assert other.producer_settings() == {"kafka.bootstrap.servers": "k:1"}


def test_what_a_checkpoint_keeps_for_good() -> None:
    options = job_options(**GOOD, state_partitions="4", ttl_ms="1000", trigger="once")
    assert options.fixed() == {
        "identity": "event",
        "sink": "delta",
        "sink.delta.path": "/t",
        "records.without.id": "fail",
        "state.partitions": "4",
    }
