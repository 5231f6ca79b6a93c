"""Options of dedupe."""

import pytest

from sidecar.errors import ConfigError
from tests.support.spark.dedupe_stream import job_options

GOOD = {"checkpoint": "/c", "sink_delta_path": "/t"}
TO_KAFKA = {"checkpoint": "/c", "sink": "kafka", "sink_topic": "once"}
BAD = {
    "no path": ({"checkpoint": "/c"}, "`sink.delta.path` must be set for `sink=delta`"),
    "a path too many": ({**TO_KAFKA, "sink_delta_path": "/t"}, "and only then"),
    "no topic": ({"checkpoint": "/c", "sink": "kafka"}, "must be set for `sink=kafka`"),
    "two topics": ({**TO_KAFKA, "sink_topic_prefix": "x"}, "but not both"),
    "no dead-letter table": (
        {**GOOD, "invalid_records": "dead-letter"},
        "`dead.letter.path` must be set",
    ),
    "a loop by a pattern": (
        {**TO_KAFKA, "topics": "", "topics_pattern": ".*"},
        "targets `once`, which the job also reads",
    ),
    "a loop by a prefix": (
        {"checkpoint": "/c", "sink": "kafka", "sink_topic_prefix": "x.", "topics": ""}
        | {"topics_pattern": ".*"},
        "`sink.topic.prefix`",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_dedupe_option_error_describes_mistake(name: str) -> None:
    settings, expected = BAD[name]
    with pytest.raises(ConfigError) as raised:
        job_options(**settings)
    assert expected in str(raised.value)


def test_producer_inherits_settings_of_source() -> None:
    same = job_options(**TO_KAFKA, sink_kafka_compression_type="zstd")
    assert same.producer_settings() == {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "kafka.compression.type": "zstd",
    }
    other = job_options(
        **TO_KAFKA, sink_kafka_bootstrap_servers="k:1", kafka_security_protocol="SSL"
    )
    assert other.producer_settings() == {"kafka.bootstrap.servers": "k:1"}


def test_checkpoint_records_fixed_options() -> None:
    options = job_options(**GOOD, state_partitions="4", ttl_ms="1000", trigger="once")
    assert options.fixed() == {
        "identity": "event",
        "sink": "delta",
        "sink.delta.path": "/t",
        "invalid.records": "fail",
        "state.partitions": "4",
    }
