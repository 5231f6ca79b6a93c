"""Positions in Kafka, and position stores."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.config.settings import SidecarProperties
from sidecar.delivery.sink_registry import create_transactional_sink
from sidecar.offsets.position_store import (
    PositionRecords,
    PositionStore,
    all_values,
    position_bytes,
    read_positions,
)
from sidecar.properties.loading import load
from sidecar.properties.source import command_line_settings

RECORDS = PositionRecords("positions", "shop", lambda source, position: {source: str(position)})


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


def test_transactional_sink_stores_positions(tmp_path: Path) -> None:
    overrides = ["kafka.producer.bootstrap.servers=127.0.0.1:9"]
    overrides.append(f"offset.backing.store.dir={tmp_path}")
    settings = command_line_settings(overrides)
    kafka = load(SidecarProperties, [], overrides=settings, environment={}).properties
    sink: PositionStore = create_transactional_sink(kafka, RECORDS, 250)
    sink.save({"position": "8"})
