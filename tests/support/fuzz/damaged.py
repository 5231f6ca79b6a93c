"""Damaged recordings: each target takes one and a random generator, and checks one promise."""

import random
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import commitlog
from tests.oracle import writer
from tests.oracle.reference.descriptor import read_descriptor
from tests.oracle.reference.recordings import scenarios
from tests.oracle.reference.records import read_records
from tests.oracle.reference.sections import read_sections
from tests.oracle.reference.segment import read_bytes
from tests.support.fuzz import mutate
from tests.support.segments.damaged_segments import check_damaged, read
from tests.support.segments.segment_reading import FORMAT, overwrite, schema_of


@dataclass(frozen=True, slots=True)
class Seed:
    """One recorded segment and everything that is compared with."""

    label: str
    name: str
    data: bytes
    schema: commitlog.Schema
    schema_text: str
    lines: list[bytes]
    payloads: list[bytes]
    keys: dict[str, bytes]


def seeds(max_bytes: int = 3 << 20) -> list[Seed]:
    """The smaller recordings; damage in a large one differs in nothing but time."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for scenario in scenarios():
            for path, name in scenario.segments():
                data = read_bytes(path)
                if len(data) > max_bytes or path.stat().st_size > 60_000:
                    continue
                descriptor = read_descriptor(data, name)
                schema = schema_of(scenario)
                keys = scenario.keys()
                payloads = [
                    record.payload
                    for section in read_sections(data, descriptor, keys)
                    for record in read_records(section, name, Counter())
                ]
                text = (scenario.folder / "schema.cql").read_text(encoding="utf-8")
                lines, _ = read(data, Path(folder), schema, name, keys)
                label = f"{scenario}/{name}"
                found.append(Seed(label, name, data, schema, text, lines, payloads, keys))
    return found


def run(target: str, first: int, goes_on: Callable[[int], bool]) -> tuple[int, str]:
    """Runs a target with seeds from `first` on while `goes_on` of their number says so; gives the
    number, and what went wrong with the last one."""
    recordings = seeds()
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        while goes_on(done):
            rng = random.Random(first + done)
            recording = rng.choice(recordings)
            try:
                TARGETS[target](recording, rng, Path(folder))
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # A panic of the extension is no Exception.
                trace = traceback.format_exc()
                return done, f"{target}, seed {first + done}, {recording.label}:\n{trace}"
            done += 1
    return done, ""


def structure(seed: Seed, rng: random.Random, folder: Path) -> None:
    """A damaged file: nothing but the original's lines comes out."""
    damaged = rng.choice(mutate.STRUCTURE)(seed.data, rng)
    if rng.random() < 0.3:
        damaged = rng.choice(mutate.STRUCTURE)(damaged or b"\0", rng)
    try:
        lines, _ = read(damaged, folder, seed.schema, seed.name, seed.keys)
    except commitlog.CommitLogError:
        return
    known = set(seed.lines)
    strange = [line for line in lines if line not in known]
    moved = {line.split(b'"update":', 1)[1] for line in seed.lines}
    # A range that is repeated or removed moves good records; their content must still be known.
    assert all(line.split(b'"update":', 1)[1] in moved for line in strange), strange[:1]


def one_bit(seed: Seed, rng: random.Random, folder: Path) -> None:
    """One flipped bit: what is lost lies in a gap."""
    bit = rng.randrange(len(seed.data) * 8)
    single = bytearray(seed.data)
    single[bit // 8] ^= 1 << bit % 8
    label = f"bit {bit}"
    check_damaged(
        label,
        bytes(single),
        seed.lines,
        folder,
        schema=seed.schema,
        name=seed.name,
        keys=seed.keys,
    )


def payload(seed: Seed, rng: random.Random, folder: Path) -> None:
    """Invalid payloads with valid checksums: rejected or read, and the next one too."""
    if not seed.payloads:
        return
    version = int(seed.name.split("-")[1])
    mutant = mutate.payload_mutant(rng.choice(seed.payloads), rng)
    data = writer.segment([[mutant, rng.choice(seed.payloads)]], version=version)
    path = folder / f"CommitLog-{version}-1.log"
    overwrite(path, data)
    reader = commitlog.SegmentReader(str(path))
    abandoned: list[tuple[str, str | None]] = []
    while (
        batch := reader.read(seed.schema, FORMAT, complete=True, abandoned=abandoned)
    ).stop != "end":
        if batch.blocked is not None:
            abandoned.append((batch.blocked.table_id, batch.blocked.column))
        batch.ndjson(0, len(batch))
        batch.messages(0, len(batch))


def schema_text(seed: Seed, rng: random.Random, folder: Path) -> None:
    """Damaged schema texts: read, or refused with a line."""
    text = rng.choice(mutate.STRUCTURE)(seed.schema_text.encode(), rng)
    try:
        commitlog.Schema.from_cql(text.decode("utf-8", "replace"))
    except commitlog.SchemaError as error:
        assert str(error).startswith("schema")


TARGETS: dict[str, Callable[[Seed, random.Random, Path], None]] = {
    "damaged-segment": structure,
    "damaged-bit": one_bit,
    "damaged-payload": payload,
    "damaged-schema": schema_text,
}
