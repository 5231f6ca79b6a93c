"""Sinks by name."""

from typing import get_args

import pytest

from sidecar.config.settings import SidecarProperties, SinkName
from sidecar.delivery.sink_registry import SINKS, create_sink
from sidecar.errors import ConfigError
from sidecar.properties.loading import load
from sidecar.properties.source import command_line_settings
from sidecar.sinks.file import FileSink
from sidecar.sinks.kafka.sink import KafkaSink
from sidecar.sinks.stdout import StdoutSink


def properties(*assignments: str) -> SidecarProperties:
    overrides = command_line_settings(["offset.backing.store.dir=/tmp", *assignments])
    return load(SidecarProperties, [], overrides=overrides, environment={}).properties


def test_sink_registry_matches_names_of_the_property() -> None:
    assert SINKS.keys() == set(get_args(SinkName))


@pytest.mark.parametrize(
    ("assignments", "kind"),
    [
        (["sink=STDOUT"], StdoutSink),
        (["sink=file", "file.path=/tmp/x"], FileSink),
        (["kafka.producer.bootstrap.servers=localhost:1"], KafkaSink),
    ],
)
def test_each_sink_name_creates_the_matching_sink(assignments: list[str], kind: type) -> None:
    assert isinstance(create_sink(properties(*assignments)), kind)


@pytest.mark.parametrize(
    ("assignments", "problem"),
    [
        ([], r"`kafka\.producer\.bootstrap\.servers` must be set for the sink `kafka`"),
        (["sink=file"], r"`file\.path` must be set for the sink `file`"),
        (["sink=kafak"], "must be 'kafka', 'file' or 'stdout', not `kafak`"),
        (
            ["sink=stdout", "kafka.producer.linger.m=5"],
            r"`kafka\.producer\.linger\.m` \(command line\) is not a setting of a Kafka producer; "
            r"the nearest one is `kafka\.producer\.linger\.ms`",
        ),
    ],
)
def test_required_sink_properties_are_checked(assignments: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        properties(*assignments)


def test_ineffective_producer_settings_are_warned_about() -> None:
    overrides = command_line_settings(
        ["offset.backing.store.dir=/tmp", "sink=stdout", "kafka.producer.max.block.ms=1"]
    )
    loaded = load(SidecarProperties, [], overrides=overrides, environment={})
    assert loaded.warnings[0].startswith("`kafka.producer.max.block.ms` has no effect: ")


@pytest.mark.parametrize("name", ["partitions", "replication.factor"])
def test_topic_creation_requires_positive_numbers(name: str) -> None:
    with pytest.raises(ConfigError, match="must be a positive number or -1, not `0`"):
        properties(
            "kafka.producer.bootstrap.servers=localhost:1",
            "topic.creation.enable=true",
            f"topic.creation.default.{name}=0",
        )
