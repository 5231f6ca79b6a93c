"""Segments that decompress to far more than their size, and endlessly nested values. A process with
a memory limit (RLIMIT_AS) reads each of them."""

import json
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import cramjam
import pytest
from Cryptodome.Cipher import AES
from Cryptodome.Util.Padding import pad

import commitlog
from agent.schema.history import SchemaHistory
from agent.schema.source import KnownSchema, NodeIdentity
from tests.oracle.reference.rows import USE_ROW_TIMESTAMP
from tests.oracle.writer import (
    FRAMINGS,
    MARKER_LENGTH,
    be32,
    header,
    insert,
    marker,
    mutation,
    record,
    segment,
    update,
    vbytes,
)
from tests.oracle.writer.framings import IV, KEY, PLAIN, Framing, aes_cbc, compressed
from tests.support.mongodb.bson_documents import event, nested_document
from tests.support.segments.bombs import (
    BOMB_BYTES,
    LARGE_BYTES,
    PREFIX,
    deflate_bomb,
    deflated,
    lz4_bomb,
    snappy_bomb,
    zstd_bomb,
)
from tests.support.segments.memory_segments import NAME, READ, SCHEMA_TEXT, TABLE_ID

GIB = 1 << 30
LIMIT_BYTES = 3 * GIB // 4


BOMBS = {
    "ZstdCompressor": zstd_bomb,
    "DeflateCompressor": deflate_bomb,
    "LZ4Compressor": lz4_bomb,
    "SnappyCompressor": snappy_bomb,
}


ENCODE = """
import sys
from mongo_agent.encoder import MongoEncoder
content = sys.stdin.buffer.read()
changes = []
while content:
    size = int.from_bytes(content[:4], "little")
    changes.append(content[:size])
    content = content[size:]
*nested, after = changes
for layout in sys.argv[1:]:
    encoder = MongoEncoder(
        topic_prefix="p", replica_set="rs0", node_id="n", layout=layout,
        excluded_fields=("shop.cust.a.a.secret",),
    )
    for each in nested:
        batch = encoder.encode((each, after))
        print(len(batch.failures), len(batch))
"""
LAYOUTS = ("debezium-3", "debezium-2.1", "debezium-1.x", "mongodb")
SCHEMAS = """
import sys, commitlog
for text in sys.stdin.read().split(";"):
    try: commitlog.Schema.from_cql(text)
    except commitlog.SchemaError: pass
"""
HISTORY = """
import sys
from pathlib import Path
from agent.schema.history import SchemaHistory
assert SchemaHistory(Path(sys.argv[1])).load() is None
"""


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))


@pytest.mark.parametrize("name", BOMBS)
def test_block_decompressing_to_2_gib_is_a_gap(name: str, tmp_path: Path) -> None:
    """The block is valid: its compressor would decompress all of it."""
    block = BOMBS[name]()
    framing = compressed(name, lambda content: content, PREFIX + name)
    start = header(7, 1, framing.parameters)
    content = be32(BOMB_BYTES) + block
    end = len(start) + MARKER_LENGTH + len(content)
    path = tmp_path / NAME
    path.write_bytes(start + marker(1, len(start), end) + content)
    for how in ("scan", "read"):
        found = json.loads(run_alone(READ, b"", str(path), SCHEMA_TEXT, "{}", how))
        assert found["gaps"] == 1
        assert (found["peak"] - found["before"]) * 1024 < 256 << 20, found


def zstd_section() -> tuple[Framing, bytes]:
    """Half the maximum size of a section, in 16 KiB."""
    (framing,) = (each for each in FRAMINGS if each.name == "Zstd")
    return framing, be32(LARGE_BYTES) + zstd_bomb(LARGE_BYTES)


def encrypted_section() -> tuple[Framing, bytes]:
    framing = aes_cbc(LARGE_BYTES)
    plain = be32(LARGE_BYTES) + lz4_bomb(LARGE_BYTES)
    chunk = AES.new(KEY, AES.MODE_CBC, iv=IV).encrypt(pad(plain, AES.block_size))
    return framing, be32(LARGE_BYTES) + be32(len(chunk)) + be32(len(plain)) + chunk


def record_section() -> tuple[Framing, bytes]:
    """One record of a plain segment; no reader decodes its payload."""
    length = be32(400 << 20)
    return PLAIN, length + be32(zlib.crc32(length)) + bytes((400 << 20) + 4)


def value_section() -> tuple[Framing, bytes]:
    """One value that fits a section but not an event."""
    return PLAIN, record(mutation(update(TABLE_ID, insert(1, b"x" * (100 << 20)))))


def rows_section() -> tuple[Framing, bytes]:
    """300,000 rows of 11 bytes yield as many events."""
    return PLAIN, record(mutation(update(TABLE_ID, insert(1, b"x") * 300_000)))


@pytest.mark.parametrize(
    "section", [zstd_section, encrypted_section, record_section, value_section, rows_section]
)
def test_data_beyond_the_memory_limit_is_a_gap(
    section: Callable[[], tuple[Framing, bytes]], tmp_path: Path
) -> None:
    """The reader delivers the data after the gap."""
    framing, large = section()
    path = tmp_path / NAME
    with path.open("wb") as file:
        file.write(header(7, 1, framing.parameters))
        for part in (large, framing.store(record(mutation(update(TABLE_ID, insert(1, b"x")))))):
            at = file.tell()
            file.write(marker(1, at, at + MARKER_LENGTH + len(part)))
            file.write(part)
    keys = json.dumps({alias: key.hex() for alias, key in framing.keys.items()})
    found = json.loads(run_alone(READ, b"", str(path), SCHEMA_TEXT, keys, "read"))
    (cause,) = found["causes"]
    assert "memory limit of 768 MiB (RLIMIT_AS)" in cause
    assert "Raise the limit to " in cause
    assert (found["peak"] - found["before"]) * 1024 < 256 << 20, found
    assert found["mutations"] >= 1


DOUBLING = """
import json, re, sys
from pathlib import Path
import commitlog
from sidecar.encoding import SchemaIds
text = sys.stdin.read()
schema = commitlog.Schema.from_cql(text)
schema = schema.merged(commitlog.Schema.from_cql(text, seen_at_us=1 << 50))
size = len(schema.to_stored())
for value in ("json", "json_with_schema", "avro", "protobuf", "string"):
    ids = SchemaIds()
    event_format = commitlog.EventFormat(
        topic_prefix="t", cluster="c", node_id="n", value=value, schema_ids=ids
    )
    batch = commitlog.SegmentReader(sys.argv[1]).read(schema, event_format, complete=True)
    if batch.blocked is not None and batch.blocked.unregistered:
        size = max(size, *(len(each.schema) for each in batch.blocked.unregistered))
    else:
        (message,) = batch.messages(0, len(batch))
        size = max(size, len(message[2]))
        if value == "json":
            value_as_json = json.loads(message[2])
peak_kib = int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
opaque = [column for table in schema.tables() for column in table.opaque_columns]
print(json.dumps({"opaque": opaque, "size": size, "value": value_as_json,
                  "peak_mib": peak_kib >> 10}))
"""


@pytest.mark.parametrize("levels", [12, 15, 16, 24, 60])
def test_doubling_user_types_take_bounded_memory(levels: int, tmp_path: Path) -> None:
    """Each type contains the previous one twice, so 60 statements stand for 10^18 types. Every
    encoding must write out each type that a schema accepts."""
    types = ["CREATE TYPE k.u0 (a int);"]
    types += [
        f"CREATE TYPE k.u{level} (a frozen<u{level - 1}>, b frozen<u{level - 1}>);"
        for level in range(1, levels + 1)
    ]
    table = SCHEMA_TEXT.replace("v text,", f"v text, w frozen<u{levels}>,")
    other = SCHEMA_TEXT.replace("k.t", "k.other").replace("0483c18", "0483c19")
    row = insert(1, b"x") + bytes([USE_ROW_TIMESTAMP]) + vbytes(be32(0xFFFFFFFF) * 2)
    payload = mutation(update(TABLE_ID, row, (b"v", b"w")))
    path = tmp_path / NAME
    path.write_bytes(segment([[payload]], 7, 1))
    text = ";".join([*types, table, other])
    found = json.loads(run_alone(DOUBLING, text.encode(), str(path)))
    assert found["opaque"] == ([] if levels < 16 else ["w"])
    assert found["peak_mib"] < 200, found
    assert found["size"] < 16 << 20, found
    shown = found["value"]["after"]["w"]["value"]
    assert shown == ({"a": None, "b": None} if levels < 16 else "//////////8=")


def test_decompression_bombs_are_valid_input() -> None:
    """If decoders rejected the bombs, the test above would prove nothing."""
    unpacker = zlib.decompressobj()
    assert len(unpacker.decompress(deflate_bomb(), 1 << 20)) == 1 << 20
    assert zstd_bomb()[5:9] == lz4_bomb()[:4] == BOMB_BYTES.to_bytes(4, "little")
    assert cramjam.snappy.decompress_raw_len(snappy_bomb()[:64]) == BOMB_BYTES


def test_endlessly_nested_type_does_not_crash_the_parser() -> None:
    texts = []
    for depth in (100, 10_000, 200_000):
        nested = "frozen<list<" * depth + "int" + ">>" * depth
        texts += [
            f"CREATE TABLE k.t (p int PRIMARY KEY, v {nested}) WITH cdc = true",
            f"CREATE TABLE k.t (p int PRIMARY KEY, v 'List({'List(' * depth}')",
        ]
    run_alone(SCHEMAS, ";".join(texts).encode())


def change(member: str, document: bytes) -> bytes:
    """An insert whose `member` is this document."""
    whole = event("insert")[4:-1] + b"\x03" + member.encode() + b"\0" + document + b"\0"
    return (len(whole) + 4).to_bytes(4, "little") + whole


@pytest.mark.parametrize("depth", [100, 1_000, 200_000, 2_000_000])
def test_deeply_nested_documents_are_rejected(depth: int) -> None:
    """Each BSON level has a length, so 16 MiB hold two million levels. Servers allow 100 levels:
    the encoder rejects events with 200 or more, and encodes the next event."""
    nested = [nested_document(depth, is_array=is_array) for is_array in (False, True)]
    after = nested_document(3, is_array=False)
    changes = b"".join(change("fullDocument", each) for each in (*nested, after))
    lines = run_alone(ENCODE, changes, *LAYOUTS).splitlines()
    assert lines == [b"0 2" if depth == 100 else b"1 1"] * len(nested) * len(LAYOUTS)


def run_alone(program: str, content: bytes, *arguments: str) -> bytes:
    """Run a program with at most `LIMIT_BYTES` of memory; it must not crash."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        input=content,
        capture_output=True,
        preexec_fn=limited,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_overlong_identifier_is_a_schema_error() -> None:
    with pytest.raises(commitlog.SchemaError):
        commitlog.Schema.from_cql("CREATE TABLE " + "a" * (1 << 20))


@pytest.mark.parametrize("kind", ["unpacks to 2 GiB", "nested"])
def test_endless_schema_history_is_ignored(kind: str, tmp_path: Path) -> None:
    """Two MiB of the file would decompress to two GiB."""
    wbits = 16 + zlib.MAX_WBITS
    if kind == "nested":
        content = zlib.compress(b'{"schema":' * 1_000_000, wbits=wbits)
    else:
        content = deflated(b" " * (1 << 20), wbits)
    (tmp_path / "schema_history.json.gz").write_bytes(content)
    run_alone(HISTORY, b"", str(tmp_path))


def test_schema_history_of_many_wide_tables_is_loaded(tmp_path: Path) -> None:
    columns = ", ".join(f"column_{number} text" for number in range(1000))
    schema = commitlog.Schema.from_cql(
        "".join(
            f"CREATE TABLE k.t{number} (p int PRIMARY KEY, {columns}) "
            f"WITH ID = 5a1c395e-b41f-11e5-9f22-{number:012x} AND cdc = true;"
            for number in range(20)
        )
    )
    history = SchemaHistory(tmp_path)
    history.save(KnownSchema(schema, NodeIdentity("node", "lab")))
    found = history.load()
    assert found is not None
    assert found.schema.to_stored() == schema.to_stored()
