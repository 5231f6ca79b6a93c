"""Field names in Avro, Protobuf and Connect while columns are added one by one."""

import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commitlog import EventFormat, Schema, SnapshotEncoder
from sidecar.encoding import SchemaIds

NAMES = st.lists(
    st.text("aA_-. 1", min_size=1, max_size=3) | st.text(min_size=1, max_size=4),
    min_size=2,
    max_size=6,
    unique=True,
).filter(lambda names: "k" not in names)
TABLE_ID = "5a1c395e-b41f-11e5-9f22-ba0be0483c18"
START_US = 1_600_000_000_000_000
STEP_US = 3_600_000_000
ENCODINGS = ("avro", "protobuf")


def added_us(number: int) -> int:
    return START_US + number * STEP_US


def node_schema(names: Sequence[str], number: int, *, has_times: bool) -> Schema:
    """The rows of a node with the columns up to `number`.

    Column n is a tuple of n + 1 values, which identify its field."""
    columns = [("k", "int", "partition_key")] + [
        (name, f"frozen<tuple<{', '.join(['int'] * (each + 1))}>>", "regular")
        for each, name in enumerate(names[: number + 1])
    ]
    table = {"keyspace_name": "shop", "table_name": "t"}
    rows = {
        "tables": [{**table, "id": TABLE_ID, "cdc": True}],
        "columns": [
            {
                **table,
                "column_name": name,
                "type": type_name,
                "kind": kind,
                "position": 0 if kind == "partition_key" else -1,
                "clustering_order": "none",
                "created_us": added_us(place - 1) if has_times else None,
            }
            for place, (name, type_name, kind) in enumerate(columns)
        ],
        **{name: [] for name in ("dropped_columns", "types", "views")},
    }
    text = json.dumps(rows).encode("utf-8", "surrogatepass")
    return Schema.from_system_rows(text, seen_at_us=added_us(number) + 1)


def field_names(schema: Schema, encoding: str) -> dict[int, str]:
    """The name of the field of each column."""
    written = EventFormat(
        topic_prefix="p",
        cluster="c",
        node_id="n",
        value=encoding,  # type: ignore[arg-type]
        schema_ids=SchemaIds(),
    )
    encoder = SnapshotEncoder(schema, TABLE_ID, written, element_times=True, started_us=1)
    (text,) = (each.schema for each in encoder.unregistered if each.side == "value")
    if encoding == "protobuf":
        message = re.search(r"message After \{(.*?)\n *\}", text, re.S)
        assert message is not None
        found = re.findall(r"(\w+) (\w+) = \d+;", message[1])
        return {
            kind.count("int"): name for kind, name in found if "Tuple" in kind or "tuple" in kind
        }
    (after,) = (each for each in json.loads(text)["fields"] if each["name"] == "after")
    names = {}
    for field in after["type"]["fields"]:
        width = len(re.findall(r'"field\d+"', json.dumps(field)))
        if width:
            names[width] = field["name"]
    return names


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("has_times", [True, False])
@given(NAMES)
def test_added_columns_do_not_rename_existing_fields(
    encoding: str, has_times: bool, names: list[str]
) -> None:
    known = node_schema(names, 0, has_times=has_times)
    before: dict[int, str] = {}
    for number in range(len(names)):
        # Simulates a restart: the history is stored with the agent's offsets.
        known = Schema.from_stored(known.to_stored())
        known = known.merged(node_schema(names, number, has_times=has_times))
        found = field_names(known, encoding)
        assert len(set(found.values())) == len(found) == number + 1
        assert {width: found[width] for width in before} == before
        before = found
    if has_times:
        # Another agent that reads the table for the first time.
        assert field_names(node_schema(names, len(names) - 1, has_times=True), encoding) == before
