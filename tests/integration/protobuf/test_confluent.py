"""Confluent's registry client and Protobuf deserializer in Python."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.reference.recordings import Scenario
from tests.support.avro.encodings import MODES, Encoding, cases
from tests.support.protobuf.registered import check_types
from tests.support.sinks.fake_registry import FakeRegistry


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry() as registry:
        # Real ids start at 1.
        registry.schemas.append('"null"')
        yield registry


@pytest.mark.parametrize(("scenario", "modes"), cases({}, *MODES, all_events=()))
def test_confluent_protobuf_deserializer_reads_every_type(
    registry: FakeRegistry, scenario: Scenario, modes: Encoding, tmp_path: Path
) -> None:
    check_types(registry.url, scenario, modes, tmp_path)
