"""`agent verify`."""

import gzip
import json
import os
import pty
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from agent.cli.segment_files import find_segments
from agent.cli.verify import check
from agent.keystore.source import KeySource
from tests.oracle.reference.recordings import OWN, scenarios
from tests.support.agents.agent_command import AGENT
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent

pytestmark = pytest.mark.heavy

SECTIONS = [[payload(1), payload(2)], [], [payload(3, bytes(500))]]


def reports(*arguments: str | Path) -> tuple[int, list[dict[str, Any]]]:
    done = agent("verify", *arguments, "--json")
    assert done.errors == ""
    return done.exit_code, [json.loads(line) for line in done.output.splitlines()]


def test_intact_segments_are_clean(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 2, SECTIONS)
    write_segment(agent_dir.cdc_raw, 10, [])
    exit_code, (first, second) = reports(agent_dir.cdc_raw)
    assert exit_code == 0
    size = path.stat().st_size
    assert first == {
        "segment": path.name,
        "path": str(path),
        "status": "clean",
        "state": "final",
        "idx": "COMPLETED",
        "version": 7,
        "id": 2,
        "framing": "plain",
        "file_bytes": size,
        "position": size - 16,
        "sections": 3,
        "records": 3,
        "payload_bytes": sum(len(payload) for section in SECTIONS for payload in section),
        "unwritten_bytes": 0,
        "tail_bytes": 16,
        "tail_written_bytes": 0,
        "gaps": [],
        "error": None,
    }
    assert (second["segment"], second["sections"]) == ("CommitLog-7-10.log", 0)


def test_damage_is_reported_with_exit_code_5(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, SECTIONS)
    write_segment(agent_dir.cdc_raw, 2, SECTIONS)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(bytes(500), b"\1" + bytes(499)))
    exit_code, (first, second) = reports(agent_dir.cdc_raw)
    assert (exit_code, first["status"], second["status"]) == (5, "damaged", "clean")
    assert first["records"] == 2
    end = len(whole) - 16
    start = end - len(SECTIONS[2][0]) - 12
    (gap,) = first["gaps"]
    assert (gap["from"], gap["to"]) == (start, end)
    table = agent("verify", agent_dir.cdc_raw)
    assert table.exit_code == 5
    assert f"{path.name}: positions {start} to {end}: the checksum of a record" in table.output
    path.write_bytes(b"\0\0\0\7" + bytes(30))
    exit_code, (report,) = reports(path)
    assert (exit_code, report["status"]) == (5, "unreadable")
    assert path.name in report["error"]


def test_unverifiable_segment_is_not_damaged(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, SECTIONS)
    data = bytearray(path.read_bytes())
    data[3] = 5
    path.write_bytes(with_header_checksum(bytes(data)))
    exit_code, (report,) = reports(path)
    assert (exit_code, report["status"]) == (1, "unchecked")
    assert "version 5" in report["error"]


def with_header_checksum(data: bytes) -> bytes:
    covered = data[:4] + data[8:12] + data[4:8] + (2).to_bytes(4, "big") + b"{}"
    return data[:16] + zlib.crc32(covered).to_bytes(4, "big") + data[20:]


@pytest.mark.parametrize("length", [3, 7])
def test_every_flipped_bit_is_detected(agent_dir: AgentDir, length: int) -> None:
    """Checksums cover every bit except those of the last section's end. A later end only adds
    trailing zeros and loses no record."""
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1, bytes(length))], [payload(2)]])
    whole = path.read_bytes()
    for bit in range((len(whole) - 16) * 8):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        (segment,) = find_segments([path])
        report = check(segment, lambda _: None, KeySource(None))
        if report.status == "clean":
            assert report.unwritten_bytes is not None
            assert (report.records, report.unwritten_bytes > 0) == (
                2,
                True,
            ), bit


def test_live_segment_is_verified_up_to_synced_end(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, SECTIONS, idx="0")
    whole = path.read_bytes()
    end = len(whole) - 16
    torn = whole[:end] + b"\0\0\0\0\1\2\3\4" + b"records that are not synced"
    path.write_bytes(torn)
    exit_code, (report,) = reports(path)
    assert (exit_code, report["state"], report["position"]) == (0, "live", end)
    assert report["tail_written_bytes"] == len(torn) - end
    assert "written, not synced" in agent("verify", path).output
    exit_code, (report,) = reports(path, "--final")
    assert (exit_code, report["state"], report["status"]) == (5, "final", "damaged")


def test_index_beyond_end_of_log_is_damage(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, SECTIONS, idx="0")
    end = path.stat().st_size - 16
    index = path.with_name(f"{path.stem}_cdc.idx")
    index.write_text(f"{end}\n")
    assert reports(path)[0] == 0
    index.write_text(f"{end + 100}\n")
    exit_code, (report,) = reports(path)
    assert exit_code == 5
    (gap,) = report["gaps"]
    assert (gap["from"], gap["to"]) == (end, end + 100)
    index.write_text(f"{end + 100}\nCOMPLETED")
    assert reports(path)[0] == 5
    # A replay writes the file's length, which is independent of the log's end.
    index.write_text(f"{path.stat().st_size}\nCOMPLETED")
    assert reports(path)[0] == 0


def test_index_that_is_a_pipe_is_rejected(agent_dir: AgentDir) -> None:
    index = write_segment(agent_dir.cdc_raw, 1, SECTIONS).with_name("CommitLog-7-1_cdc.idx")
    index.unlink()
    os.mkfifo(index)
    done = agent("verify", agent_dir.cdc_raw)
    assert (done.exit_code, done.errors) == (1, f"agent: {index}: it is not a regular file.\n")


def test_recordings_are_clean_and_counted() -> None:
    """The counted records include those of the dump."""
    for scenario in scenarios():
        keystore = KeySource(scenario.keystore())
        positions = {(line["segment"], line["pos"]) for line in scenario.expected()}
        for segment in find_segments([path for path, _ in scenario.segments()]):
            report = check(segment, lambda _: None, keystore, is_live=False)
            assert report.status == "clean", scenario
            assert report.records is not None
            assert report.position is not None
            lines = [pos for name, pos in positions if name == segment.name.log]
            assert report.records >= len(lines)
            assert report.position >= max(lines, default=0)


def test_live_segment_copies_are_intact_up_to_index() -> None:
    copies = sorted(OWN.glob("*/live*/snap-*/CommitLog-*.log.gz"))
    assert copies
    for segment in find_segments(copies):
        report = check(segment, lambda _: None, KeySource(None))
        assert report.position is not None
        if segment.idx().offset is not None:
            assert report.state == "live"
            assert report.position >= (segment.idx().offset or 0)
        assert report.gaps == (), segment.path


def test_compressed_segment_is_verified_like_plain_segment(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, SECTIONS)
    _, (plain,) = reports(path)
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    _, (report,) = reports(packed)
    assert report == {**plain, "path": str(packed)}


def test_invalid_verify_arguments_are_rejected(agent_dir: AgentDir) -> None:
    for arguments in (
        (),
        (agent_dir.folder / "missing.log",),
        (agent_dir.offsets,),
        ("--nonsense",),
    ):
        done = agent("verify", *arguments)
        assert done.exit_code == 2, arguments
        assert "Traceback" not in done.errors


def test_terminal_output_contains_progress_bar_and_table(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, SECTIONS)
    controller, terminal = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "200"}
    command = [str(AGENT), "verify", str(path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=terminal, env=environment
    ) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                part = os.read(controller, 4096)
            except OSError:
                break
            shown += part
        output = process.stdout.read() if process.stdout else b""
    os.close(controller)
    assert process.returncode == 0
    assert b"checking" in shown
    assert path.name in output.decode()
