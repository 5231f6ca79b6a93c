"""Avro's Java library with our messages: reads of Java consumers, and the compatibility check of a
registry."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from sidecar.encoding import Unregistered
from tests.oracle.reference.recordings import Scenario
from tests.support.avro.changes import CHANGE_NAMES, CHANGES, HEAD_BYTES, NUMBER, schemas_of
from tests.support.avro.encodings import MODES, Encoding, cases, in_both
from tests.support.avro.java_avro import JavaAvro
from tests.support.avro.reading import Ids, differences
from tests.support.avro.recordings import check
from tests.support.avro.tables import DDL, ONE_SEGMENT, both, grown_tables, inserted


@pytest.fixture(scope="module")
def java() -> Iterator[JavaAvro]:
    with JavaAvro() as avro:
        yield avro


class JavaIds(Ids):
    """Java reads the messages and parses each schema once."""

    def __init__(self, avro: JavaAvro, first: int) -> None:
        super().__init__()
        self._avro = avro
        self._first = first

    def give(self, wanted: list[Unregistered]) -> None:
        super().give(wanted)
        for number in range(len(self.schemas) - len(wanted), len(self.schemas)):
            self._avro.parse(self._first + number, self.schemas[number].schema)

    def decoded(self, message: bytes) -> dict[str, Any]:
        number = int.from_bytes(message[1:HEAD_BYTES], "big")
        return self._avro.read(self._first + number, message[HEAD_BYTES:])


@pytest.mark.parametrize(("scenario", "modes"), cases({}, *MODES, all_events=()))
def test_java_avro_reads_every_type(
    java: JavaAvro, scenario: Scenario, modes: Encoding, tmp_path: Path
) -> None:
    ids = JavaIds(java, first=1000)
    assert check(in_both(scenario, modes, ids, tmp_path), ids.both) > 0


@pytest.mark.parametrize(("before", "after", "value"), CHANGES, ids=CHANGE_NAMES)
def test_schema_of_altered_table_is_backward_compatible(
    java: JavaAvro, tmp_path: Path, before: str, after: str, value: bytes
) -> None:
    """The changed schema also reads earlier messages, with the same values."""
    old, message = schemas_of(tmp_path, before, value)
    new, _ = schemas_of(tmp_path, after, value)
    java.parse(1, old)
    java.parse(2, new)
    found = java.compare(reader=2, writer=1)
    assert found.is_compatible, found.why
    assert found.is_readable
    as_it_was, as_it_is = java.read(1, message), java.read(1, message, reader=2)
    assert as_it_is["cells"] == as_it_was["cells"]
    for column, content in as_it_is["after"].items():
        was = as_it_was["after"].get(column)
        assert content is None or not list(differences(content, was)) or "value" in content
        if column == "a" and value == NUMBER:
            assert content == was


@settings(ONE_SEGMENT, max_examples=40)
@given(tables=grown_tables())
def test_schemas_with_changed_columns_are_mutually_compatible(
    java: JavaAvro, tmp_path: Path, tables: tuple[str, str]
) -> None:
    """In both directions: for a while, replicas may have different definitions of a table."""
    for number, ddl in enumerate(tables, 1):
        ids, _, _ = both(inserted(tmp_path, ddl, {}), ddl)
        java.parse(number, ids.schemas[-1].schema)
    for reader, writer in ((2, 1), (1, 2)):
        found = java.compare(reader, writer)
        assert (found.is_compatible, found.is_readable) == (True, True), found.why


def test_backward_compatibility_rejects_changed_types(java: JavaAvro, tmp_path: Path) -> None:
    """A column whose type has another encoding, and another handling mode of a column."""
    number, _ = schemas_of(tmp_path, DDL.format(columns="a int"))
    text, _ = schemas_of(tmp_path, DDL.format(columns="a text"))
    exact = DDL.format(columns="a decimal")
    value = b"\0\0\0\2\1"
    lossy, _ = schemas_of(tmp_path, exact, value)
    precise, _ = schemas_of(tmp_path, exact, value, decimal="precise")
    for at, schema in enumerate((number, text, lossy, precise), 1):
        java.parse(at, schema)
    for reader, writer in ((2, 1), (1, 2), (4, 3), (3, 4)):
        found = java.compare(reader, writer)
        assert not found.is_compatible
        assert not found.is_readable
        assert found.why
