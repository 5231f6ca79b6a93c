"""Our schemas and those of Debezium's connector (`python -m tests.oracle.debezium.schemas`)."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import commitlog
from tests.oracle.debezium.schemas import FILE, MODES, TOPIC_PREFIX
from tests.oracle.reference import parse_schema
from tests.oracle.reference.model import Liveness, PartitionUpdate, Row
from tests.support.avro.reading import messages
from tests.support.avro.tables import format_of, segment_of
from tests.support.converters.comparison import WithSchema

TWO_COLUMNS = b"\0\1a\0" + b"\0\x08" + bytes(7) + b"\1\0"


def our_schemas(folder: Path, cql: str, mode: str) -> dict[str, tuple[Any, Any]]:
    """Schemas of key and value of an event of each table, by the topic without its prefix."""
    updates = []
    for table in parse_schema(cql).tables.values():
        row = Row((b"",) * len(table.clustering), Liveness(1, None, None), None, False, (), ())
        key = b"\0\0\0\1" if len(table.partition_key) == 1 else TWO_COLUMNS
        updates.append(PartitionUpdate(table, key, None, None, (row,)))
    path = segment_of(folder, updates)
    exact: Any = "double" if mode == "default" else mode
    event_format = format_of(
        topic_prefix=f"{TOPIC_PREFIX}-{mode}",
        cells=False,
        key="json_with_schema",
        value="json_with_schema",
        decimal=exact,
        varint="long" if mode == "default" else exact,
    )
    schema = commitlog.Schema.from_cql(cql)
    return {
        message.topic.partition(".")[2]: (
            WithSchema.of(message.key).parsed_schema,
            WithSchema.of(message.value).parsed_schema,
        )
        for message in messages(path, schema, event_format)
    }


@pytest.mark.parametrize("mode", MODES)
def test_connect_schemas_equal_those_of_debezium(mode: str, tmp_path: Path) -> None:
    found = json.loads(gzip.decompress(FILE.read_bytes()))
    ours = our_schemas(tmp_path, found["schema"], mode)
    sent = found["modes"][mode]
    assert len(sent) == 3
    for topic, parts in sent.items():
        for mine, part in zip(ours[topic], parts, strict=True):
            theirs = WithSchema.of(base64.b64decode(part)).parsed_schema
            assert without_ours(mine) == optional_in_exact_modes(theirs)


def without_ours(schema: Any, field: str = "") -> Any:
    """Without fields that Debezium lacks."""
    if isinstance(schema, list):
        return [without_ours(each) for each in schema if each["field"] != "removed"]
    if not isinstance(schema, dict):
        return schema
    made = {
        name: without_ours(value) if name in ("fields", "items", "keys", "values") else value
        for name, value in schema.items()
    }
    if schema.get("name") == "clustering_value":
        made["fields"] = [{**each, "optional": False} for each in made["fields"]]
    return made


def optional_in_exact_modes(schema: Any) -> Any:
    """Debezium's exact values are not nullable, so Debezium cannot send a null of such a column."""
    if isinstance(schema, list):
        return [optional_in_exact_modes(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        name: optional_in_exact_modes(value) if isinstance(value, (dict, list)) else value
        for name, value in schema.items()
    }
    if schema.get("name", "").endswith(("VariableScaleDecimal", "connect.data.Decimal")):
        made["optional"] = True
    return made
