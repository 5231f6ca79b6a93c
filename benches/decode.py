"""Typed decoding: the decoder alone, and in Spark's `mapInArrow` beside one that does nothing.

CPU time, as the JVM and the Python workers of Spark share the cores: of the calling thread for the
decoder alone, of all processes of the session for Spark. The stages of Spark take turns, and the
first round counts for nothing.
"""

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from benches.machine import machine
from benches.paths import scratch_directory
from benches.progress import progress_bar
from benches.spark import SparkUnderTest
from benches.stats import Spread, print_table, write_result
from commitlog import Schema
from commitlog.arrow import Decoder

ROWS = 300_000
BATCH_ROWS = 10_000
_SCHEMA = """
CREATE TABLE ks.{name} ({columns}) WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c{id:02x};
"""
_ELEMENTS = pa.list_(pa.struct([("path", pa.binary()), ("value", pa.binary())]))


@dataclass(frozen=True)
class RowKind:
    """A table, and a function from a row number to the raw bytes of that row."""

    name: str
    columns: str
    row: Callable[[int], dict[str, Any]]

    def decoder(self) -> Decoder:
        text = _SCHEMA.format(name=self.name, columns=self.columns, id=1)
        return Decoder(Schema.from_cql(text), "ks", self.name)


@dataclass(frozen=True)
class KindResult:
    """Rows per CPU second; `added_us`: CPU microseconds a row that decoding adds to `identity`."""

    name: str
    rows: int
    decoder: Spread
    stages: dict[str, Spread]
    added_us: float


def _flat(number: int) -> dict[str, bytes]:
    return {
        "k": number.to_bytes(8, "big"),
        "name": b"a text of some twenty bytes %d" % (number % 1000),
        "amount": (2).to_bytes(4, "big") + (number * 7).to_bytes(6, "big"),
        "seen": (1_700_000_000_000 + number).to_bytes(8, "big"),
        "id": uuid.UUID(int=number, version=4).bytes,
        "flag": bytes([number % 2]),
    }


def _nested(number: int) -> dict[str, Any]:
    def word(value: int) -> bytes:
        return (value % (1 << 32)).to_bytes(4, "big")

    tags = [{"path": word(number - place), "value": b""} for place in range(5)]
    counts = [{"path": b"key %d" % place, "value": word(number)} for place in range(3)]
    frozen = word(4) + b"".join(word(4) + word(number + place) for place in range(4))
    return {"k": number.to_bytes(8, "big"), "tags": tags, "counts": counts, "numbers": frozen}


KINDS = (
    RowKind(
        "flat",
        "k bigint PRIMARY KEY, name text, amount decimal, seen timestamp, id uuid, flag boolean",
        _flat,
    ),
    RowKind(
        "nested",
        "k bigint PRIMARY KEY, tags set<int>, counts map<text, int>, numbers frozen<list<int>>",
        _nested,
    ),
)


def run(is_quick: bool) -> None:
    rows, rounds = (20_000, 2) if is_quick else (ROWS, 5)
    at_start = machine()
    results = []
    with scratch_directory("decode") as scratch, SparkUnderTest.started() as spark:
        for kind in KINDS:
            with progress_bar(f"decoding: {kind.name}", rounds + 1) as step:
                results.append(_measure(kind, rows, rounds, scratch, spark, step))
    file = write_result("decode", at_start, is_quick, {"kinds": results})
    print(at_start.sentence())
    print_table(
        "thousand rows per CPU second",
        ("rows", "decoder alone", *results[0].stages, "decoding adds, µs a row"),
        [
            (
                result.name,
                result.decoder.text(scale=1e3),
                *(spread.text(scale=1e3) for spread in result.stages.values()),
                f"{result.added_us:.1f}",
            )
            for result in results
        ],
    )
    print(f"{file}")


def _measure(
    kind: RowKind,
    rows: int,
    rounds: int,
    scratch: Path,
    spark: SparkUnderTest,
    step: Callable[[], None],
) -> KindResult:
    batches = _batches(kind, rows)
    decoder = kind.decoder()
    _check(kind, decoder, batches[0])
    file = scratch / f"{kind.name}.parquet"
    pq.write_table(pa.Table.from_batches(batches), file)
    frame = spark.session.read.parquet(str(file))
    types = from_arrow_schema(decoder.schema)
    stages = {
        "scan": frame,
        "identity": frame.mapInArrow(_identity, frame.schema),
        "decode": frame.mapInArrow(decoder.decode_all, types),
    }
    alone: list[float] = []
    in_spark: dict[str, list[float]] = {name: [] for name in stages}
    for number in range(rounds + 1):
        started_s = time.thread_time()
        for batch in batches:
            decoder.decode(batch)
        alone_s = time.thread_time() - started_s
        took = {name: _cpu_of(stage, spark) for name, stage in stages.items()}
        step()
        if number == 0:
            continue
        alone.append(rows / alone_s)
        for name, cpu_s in took.items():
            in_spark[name].append(rows / cpu_s)
    spreads = {name: Spread.of(rates) for name, rates in in_spark.items()}
    added_us = 1e6 / spreads["decode"].median - 1e6 / spreads["identity"].median
    return KindResult(kind.name, rows, Spread.of(alone), spreads, added_us)


def _batches(kind: RowKind, rows: int) -> list[pa.RecordBatch]:
    def of(start: int) -> pa.RecordBatch:
        made = [kind.row(number) for number in range(start, min(start + BATCH_ROWS, rows))]
        columns = {
            name: pa.array(
                [row[name] for row in made],
                _ELEMENTS if isinstance(made[0][name], list) else pa.binary(),
            )
            for name in made[0]
        }
        return pa.record_batch(columns)

    return [of(start) for start in range(0, rows, BATCH_ROWS)]


def _check(kind: RowKind, decoder: Decoder, batch: pa.RecordBatch) -> None:
    """Check that every candidate produced the same rows."""
    row = decoder.decode(batch).slice(9, 1).to_pylist()[0]
    known = {"amount": str(Decimal(63) / 100), "tags": [5, 6, 7, 8, 9], "numbers": [9, 10, 11, 12]}
    for name, value in known.items():
        if name in row and row[name] != value:
            raise AssertionError(f"{kind.name}: {name} is {row[name]!r}")


def _identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches


def _cpu_of(frame: DataFrame, spark: SparkUnderTest) -> float:
    """CPU seconds of the JVM and the workers while Spark computes and discards a frame."""
    return spark.cost_of(lambda: frame.write.format("noop").mode("overwrite").save()).cpu_s
