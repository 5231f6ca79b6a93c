"""Attacks by files that an agent reads at its start: it ends with a message, or runs."""

import hashlib
import os
import re
import time
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.acceptance.attacks.of_files import COMMENT, LONG_SCHEMA, doubling, nested
from tests.acceptance.attacks.of_servers import MIB
from tests.acceptance.attacks.target import MEMORY_MIB, Target
from tests.support.agents.agent_directory import SCHEMA
from tests.support.segments.bombs import deflated

LONGEST_S = 10.0
Make = Callable[[Path], object]
HEADINGS = (
    "| file at the start of the agent | ended with | elapsed, s | memory, MiB | holds |\n"
    "| --- | ---: | ---: | ---: | --- |"
)


def started(name: str, folder: Path, settings: Mapping[str, str]) -> tuple[str, bool]:
    """Start the agent with a file until it runs or ends; returns the row, and whether it passes."""
    make, own, expected = STARTS[name]
    file = folder / (name.split()[0] if "/" in name else "planted")
    make(file)
    own = {key: value.replace("{file}", str(file)) for key, value in own.items()}
    target = Target("agent", {**settings, **own}, folder)
    begin_s, memory_mib = time.monotonic(), 0.0
    target.begin()
    while target.is_running and _RUNS not in target.log:
        memory_mib = max(memory_mib, target.memory_mib())
        time.sleep(0.02)
    elapsed_s, code = time.monotonic() - begin_s, target.exit_code
    if code is None:
        memory_mib = max(memory_mib, target.memory_mib())
        target.stop()
    is_told = re.search(expected, target.log) is not None and "Traceback" not in target.log
    holds = is_told and code in (None, 1, 2) and elapsed_s < LONGEST_S and memory_mib < MEMORY_MIB
    shown = f"{'it runs' if code is None else code} | {elapsed_s:.1f} | {memory_mib:.0f}"
    return f"| {name} | {shown} | {'yes' if holds else '**no**'} |", holds


def _text(content: str | bytes) -> Make:
    data = content.encode() if isinstance(content, str) else content
    return lambda path: path.write_bytes(data)


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _hole(path: Path) -> None:
    path.touch()
    os.truncate(path, 1 << 40)


def _offsets(path: Path) -> None:
    body = b"a=1\n" * (15 * MIB)
    path.write_bytes(b"#sha256=%s\n" % hashlib.sha256(body).hexdigest().encode() + body)


_YAML, _CQL = {"cassandra.config": "{file}"}, {"schema.file": "{file}"}
_HOCON = {"cassandra.driver.config.file": "{file}"}
_GCS = {
    "commit.log.transfer.class": "GCS",
    "remote.commit.log.relocation.dir": "gs://archive/cdc",
    "storage.credential.key.file": "{file}",
}
_ALIASES = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 30)
)
_STORED = deflated(b" " * MIB, 16 + zlib.MAX_WBITS)
_SYMBOLS = "CREATE TABLE a.b (" + "(" * (15 * MIB)
_RUNS, _UNREADABLE = "delivering node_id", "cannot be read|cannot read"
STARTS: dict[str, tuple[Make, Mapping[str, str], str]] = {
    "cassandra.yaml whose aliases double 30 times": (_text(_ALIASES), _YAML, "aliases"),
    "cassandra.yaml nested 100,000 deep": (_text("a: " + "[" * 100_000), _YAML, "too deeply"),
    "cassandra.yaml of 500,000 values": (_text(f"a: [{'b,' * 500_000}]"), _YAML, "20000 values"),
    "cassandra.yaml that is a hole of 1 TiB": (_hole, _YAML, _UNREADABLE),
    "HOCON nested 60,000 deep": (_text("a" + "{a" * 60_000), _HOCON, "nested too deeply"),
    "HOCON of 16 MiB": (_text("datastax-java-driver.a=1\n" * MIB), _HOCON, _UNREADABLE),
    "HOCON that includes an endless file": (_text('include "/dev/zero"\n'), _HOCON, _RUNS),
    "CQL whose user types double 24 times": (_text(doubling(24)), _CQL, _RUNS),
    "CQL with a type nested 100,000 deep": (_text(nested(100_000)), _CQL, _RUNS),
    "CQL with a comment of 15 MiB": (_text(COMMENT), _CQL, _RUNS),
    "CQL with 15 million empty statements": (_text(SCHEMA + ";" * (15 * MIB)), _CQL, _RUNS),
    "CQL with a statement of 15 million symbols": (_text(_SYMBOLS), _CQL, "2097152 words"),
    "CQL of 64 MiB": (_text(LONG_SCHEMA), _CQL, _UNREADABLE),
    "a reference to a file without end": (_endless, {"node.id": "${file:{file}}"}, _UNREADABLE),
    "a key of Google nested 30,000 deep": (_text("[" * 30_000), _GCS, "not valid JSON"),
    "offsets/schema_history.json.gz that expands to 2 GiB": (_text(_STORED), {}, _RUNS),
    "offsets/segment_offset.properties of 60 MiB": (_offsets, {}, _UNREADABLE),
}
