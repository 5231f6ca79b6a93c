"""What properties of encodings do, from the file of a user to the lines of a sink."""

import json
from pathlib import Path
from typing import Any

from tests.oracle.reference import parse_schema
from tests.oracle.reference.model import Cell, Deletion, Liveness, PartitionUpdate, Row
from tests.oracle.writer import Form, write_mutation, write_segment
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_thread import delivered

TIME_US = 1_795_000_000_000_000
DDL = """CREATE TABLE ks.t (k int, c int, d decimal, n varint, u duration, secret text,
    "odd-name" text, PRIMARY KEY (k, c))
  WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;"""
MODES = {
    "decimal.handling.mode": "string",
    "varint.handling.mode": "string",
    "duration.handling.mode": "precise",
    "field.exclude.list": "ks.t.secret",
    "field.name.adjustment.mode": "avro",
    "tombstones.on.delete": "true",
}
JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
STRING_CONVERTER = "org.apache.kafka.connect.storage.StringConverter"


def write_and_delete(agent_dir: AgentDir) -> None:
    """A row of every column, and its deletion."""
    agent_dir.schema.write_text(DDL)
    (table,) = parse_schema(DDL).tables.values()
    values = {
        "d": b"\0\0\0\2" + (12345).to_bytes(2),
        "n": (7).to_bytes(1),
        # Zigzag: 1 month, 2 days, 3 ns.
        "u": b"\2\4\6",
        "secret": b"hunter2",
        "odd-name": b"x",
    }
    cells = tuple(Cell(name, None, TIME_US, None, None, values[name]) for name in values)
    place = (b"\0\0\0\3",)
    written = Row(place, Liveness(TIME_US, None, None), None, False, (), cells)
    deleted = Row(place, None, Deletion(TIME_US + 1, TIME_US // 1_000_000), False, (), ())
    payloads = [
        write_mutation([PartitionUpdate(table, b"\0\0\0\7", None, None, (row,))], Form(version=7))
        for row in (written, deleted)
    ]
    path = agent_dir.cdc_raw / "CommitLog-7-1.log"
    data = write_segment([payloads], version=7, segment_id=1).data
    path.write_bytes(data)
    path.with_name("CommitLog-7-1_cdc.idx").write_text(f"{len(data)}\nCOMPLETED\n")


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().splitlines()]


def test_modes_left_out_fields_names_and_tombstones(agent_dir: AgentDir) -> None:
    write_and_delete(agent_dir)
    delivered(agent_dir, MODES)
    written, deleted, tombstone = lines(agent_dir.events)
    after = written["value"]["after"]
    assert (after["d"]["value"], after["n"]["value"]) == ("123.45", "7")
    assert after["u"]["value"] == {"months": 1, "days": 2, "nanoseconds": 3}
    assert after["odd_name"]["value"] == "x"
    assert b"hunter2" not in agent_dir.events.read_bytes()
    assert deleted["value"]["op"] == "d"
    assert tombstone["value"] is None
    assert tombstone["key"] == deleted["key"] == written["key"]


def test_converters(agent_dir: AgentDir) -> None:
    write_and_delete(agent_dir)
    delivered(
        agent_dir, MODES | {"key.converter": STRING_CONVERTER, "value.converter": JSON_CONVERTER}
    )
    written, deleted, tombstone = lines(agent_dir.events)
    assert written["key"] == "Struct{k=7,c=3}"
    names = [field["field"] for field in written["value"]["schema"]["fields"]]
    assert set(names) == written["value"]["payload"].keys()
    assert written["value"]["payload"]["after"]["d"]["value"] == "123.45"
    assert deleted["value"]["payload"]["op"] == "d"
    assert tombstone["value"] is None
