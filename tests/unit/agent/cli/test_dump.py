"""`agent dump`."""

import gzip
import json
import subprocess
from pathlib import Path

from agent.schema.history import SchemaHistory
from agent.schema.source import KnownSchema, NodeIdentity
from commitlog import Schema
from tests.support.agents.agent_command import AGENT
from tests.support.agents.agent_directory import OTHER_ID, AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent


def values(output: str) -> list[str]:
    """`v` of each event."""
    return [json.loads(line)["value"]["after"]["v"]["value"] for line in output.splitlines()]


def test_dump_prints_events_in_log_order(agent_dir: AgentDir) -> None:
    write_segment(agent_dir.cdc_raw, 2, [[payload(1, b"c")]])
    write_segment(agent_dir.cdc_raw, 10, [[payload(1, b"d")]])
    write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a")], [payload(2, b"b")]])
    done = agent("dump", agent_dir.cdc_raw, "--schema", agent_dir.schema)
    assert (done.exit_code, done.errors, values(done.output)) == (0, "", ["a", "b", "c", "d"])
    first = json.loads(done.output.splitlines()[0])
    assert (first["topic"], first["key"]) == ("dump.ks.t", {"k": "a", "c": 1})


def test_dump_options_select_event_format(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    plain = agent(
        "dump", path, "--schema", agent_dir.schema, "--no-cells", "--op-style", "envelope"
    )
    event = json.loads(plain.output)
    assert event["value"]["op"] == "c"
    assert "cells" not in event["value"]
    assert agent("dump", path, "--schema", agent_dir.schema, "--table", r"ks\.other").output == ""


def test_dump_uses_the_stored_schema_of_the_agent(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    configured = ("dump", path, "--config", agent_dir.configuration({"schema.file": None}))
    missing = agent(*configured)
    assert missing.exit_code == 2
    assert "has stored no schema" in missing.errors
    schema = Schema.from_cql(agent_dir.schema.read_text())
    SchemaHistory(agent_dir.offsets).save(KnownSchema(schema, NodeIdentity("n", "c")))
    assert values(agent(*configured).output) == ["x"]


def test_mutations_option_prints_canonical_dump(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    line = json.loads(agent("dump", path, "--schema", agent_dir.schema, "--mutations").output)
    assert (line["segment"], line["ks"], line["table"]) == (path.name, "ks", "t")
    assert line["items"][0]["cells"][0]["val"] == "78"


def test_compressed_segment_is_dumped_like_plain_segment(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    plain = agent("dump", path, "--schema", agent_dir.schema, "--mutations")
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert agent("dump", packed, "--schema", agent_dir.schema, "--mutations").output == plain.output
    packed.write_bytes(packed.read_bytes()[:-20])
    cut = agent("dump", packed, "--schema", agent_dir.schema)
    assert cut.exit_code == 1
    assert str(packed) in cut.errors
    assert "Traceback" not in cut.errors


def test_idx_limit_option_stops_at_index(agent_dir: AgentDir) -> None:
    sections = [[payload(1, b"a")], [payload(2, b"b")]]
    path = write_segment(agent_dir.cdc_raw, 1, sections[:1], idx=None)
    write_segment(agent_dir.cdc_raw, 1, sections, idx=str(path.stat().st_size - 16))
    arguments = ("dump", path, "--schema", agent_dir.schema)
    assert values(agent(*arguments).output) == ["a", "b"]
    assert values(agent(*arguments, "--idx-limit").output) == ["a"]
    path.with_name(f"{path.stem}_cdc.idx").unlink()
    assert agent(*arguments, "--idx-limit").output == ""
    write_segment(agent_dir.cdc_raw, 1, sections)
    assert values(agent(*arguments, "--idx-limit").output) == ["a", "b"]


def test_damage_is_reported_and_intact_records_are_printed(agent_dir: AgentDir) -> None:
    path = write_segment(
        agent_dir.cdc_raw, 1, [[payload(1, b"a"), payload(2, b"damaged"), payload(3, b"c")]]
    )
    path.write_bytes(path.read_bytes().replace(b"damaged", b"DAMAGED"))
    for options in ((), ("--mutations",)):
        done = agent("dump", path, "--schema", agent_dir.schema, *options)
        assert (done.exit_code, len(done.output.splitlines())) == (1, 2)
        assert done.errors.startswith(f"{path.name}: positions ")
        assert "DAMAGED" not in done.output


def test_table_missing_from_schema_is_reported(agent_dir: AgentDir) -> None:
    path = write_segment(
        agent_dir.cdc_raw, 1, [[payload(1), payload(2, table_id=OTHER_ID), payload(3)]]
    )
    done = agent("dump", path, "--schema", agent_dir.schema)
    assert done.exit_code == 1
    assert str(OTHER_ID) in done.errors
    assert len(done.output.splitlines()) == 2
    done = agent("dump", path, "--schema", agent_dir.schema, "--mutations")
    assert done.exit_code == 1
    assert "1 updates of tables missing from the schema" in done.errors
    assert len(done.output.splitlines()) == 2


def test_segment_with_unreadable_header_is_skipped(agent_dir: AgentDir) -> None:
    bad = write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    bad.write_bytes(b"\xff" * 100)
    write_segment(agent_dir.cdc_raw, 2, [[payload(1, b"good")]])
    done = agent("dump", agent_dir.cdc_raw, "--schema", agent_dir.schema)
    assert done.exit_code == 1
    assert bad.name in done.errors
    assert values(done.output) == ["good"]


def test_dump_rejects_unusable_segment_and_schema_files(
    agent_dir: AgentDir, tmp_path: Path
) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1)]])
    broken = tmp_path / "broken.cql"
    broken.write_text("CREATE TABLE ks.t (\n  k text,\n  oops\n);")
    cases = [
        ((path, "--schema", tmp_path / "none.cql"), "none.cql"),
        ((path, "--schema", broken), "line"),
        ((agent_dir.schema, "--schema", agent_dir.schema), "not a segment name"),
        (
            (agent_dir.cdc_raw / "CommitLog-7-9.log", "--schema", agent_dir.schema),
            "no such file or directory",
        ),
        ((agent_dir.offsets, "--schema", agent_dir.schema), "the directory contains no segment"),
    ]
    for arguments, part in cases:
        done = agent("dump", *arguments)
        assert done.exit_code == 2
        assert part in done.errors
        assert len(done.errors.splitlines()) == 1


def test_closed_output_pipe_is_not_an_error(agent_dir: AgentDir) -> None:
    write_segment(agent_dir.cdc_raw, 1, [[payload(n, b"x" * 100) for n in range(5000)]])
    command = [str(AGENT), "dump", str(agent_dir.cdc_raw), "--schema", str(agent_dir.schema)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait()


def test_only_tree_option_works_without_schema(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1), payload(2)], []])
    bare = agent("dump", path, "--tree")
    assert (bare.exit_code, bare.errors) == (0, "")
    words = [line.split()[0] for line in bare.output.splitlines()[1:]]
    assert words == [*("section", "record", "undecoded:", "record", "undecoded:", "section", "end")]
    for arguments in ((), ("--mutations",)):
        done = agent("dump", path, *arguments)
        assert done.exit_code == 2
        assert "--schema" in done.errors


def test_tree_contains_values(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a"), payload(2, table_id=OTHER_ID)]])
    done = agent("dump", path, "--tree", "--schema", agent_dir.schema)
    assert (done.exit_code, done.errors) == (0, "")
    text = done.output
    assert text.startswith(f"{path.name}: version 7, id 1, plain\nsection to ")
    for words in ("ks.t", 'k = "a"', "row c = 1 inserted ts=", 'v = "a" ts='):
        assert words in text
    assert f"table {OTHER_ID} is not in the schema" in text


def test_tree_marks_damage_at_its_position(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1), payload(2, b"damaged"), payload(3)]])
    path.write_bytes(path.read_bytes().replace(b"damaged", b"DAMAGED"))
    done = agent("dump", path, "--tree")
    assert done.exit_code == 1
    assert done.errors.startswith(f"{path.name}: positions ")
    words = [line.split()[0] for line in done.output.splitlines()[1:]]
    kinds = [word for word in words if word != "undecoded:"]
    assert kinds == ["section", "record", "gap", "record", "end"]
