"""Positions in Kafka, and position stores."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.config.settings import SidecarProperties
from sidecar.delivery.sink_registry import create_sink_and_store
from sidecar.errors import ConfigError
from sidecar.offsets.position_store import (
    PositionRecords,
    all_values,
    position_bytes,
    read_positions,
)
from sidecar.offsets.properties_store import PropertiesStore
from sidecar.properties.loading import load
from sidecar.properties.source import command_line_settings
from sidecar.sinks.kafka.transactions.sink import TransactionalKafkaSink
from sidecar.sinks.stdout import StdoutSink

RECORDS = PositionRecords("positions", "shop", lambda source, position: {source: str(position)})


def properties(directory: Path, *assignments: str) -> SidecarProperties:
    overrides = command_line_settings([f"offset.backing.store.dir={directory}", *assignments])
    return load(SidecarProperties, [], overrides=overrides, environment={}).properties


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.text())))
def test_positions_survive_round_trip(positions: dict[str, dict[str, str]]) -> None:
    assert read_positions(position_bytes(positions)) == positions


def test_values_of_all_sources_merge_into_one_mapping() -> None:
    positions = {"": {"token": "x"}, "shop.orders": {"shop.orders/token": "y"}}
    assert all_values(positions) == {"token": "x", "shop.orders/token": "y"}


@pytest.mark.parametrize("value", [b"", b"[]", b'{"a":1}', b'{"a":{"b":1}}', b"\xff"])
def test_invalid_position_bytes_are_rejected(value: bytes) -> None:
    with pytest.raises(ValueError, match="not a JSON object of objects of strings"):
        read_positions(value)


def test_connector_name_is_record_key_and_transactional_id() -> None:
    assert (RECORDS.key, RECORDS.transactional_id) == (b"shop", "cdc-sidecar-shop")


def test_file_store_works_with_stdout_sink(tmp_path: Path) -> None:
    sink, store = create_sink_and_store(properties(tmp_path, "sink=stdout"), "p.properties", None)
    assert isinstance(sink, StdoutSink)
    assert isinstance(store, PropertiesStore)
    values: Mapping[str, str] = {"position": "9"}
    store.save(values)
    assert store.load().values == values


def test_kafka_position_store_requires_kafka_sink(tmp_path: Path) -> None:
    kafka = properties(tmp_path, "kafka.producer.bootstrap.servers=127.0.0.1:9")
    sink, store = create_sink_and_store(kafka, "p.properties", RECORDS)
    assert isinstance(sink, TransactionalKafkaSink)
    assert store is sink
    store.save({"position": "8"})
    with pytest.raises(ConfigError, match="needs `sink=kafka`, not `sink=stdout`"):
        create_sink_and_store(properties(tmp_path, "sink=stdout"), "p.properties", RECORDS)
