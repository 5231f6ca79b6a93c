"""Measures typed decoding: without Spark, and in `mapInArrow` compared with an identity function.

Rates use CPU time, because Spark's JVM and Python workers share the cores. Without Spark, this is
the calling thread's time; with Spark, all processes' time. Rounds are interleaved; the first is
discarded.
"""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from benches.harness import Result, Spread, print_table, run_rounds, scratch_directory
from benches.spark import SparkUnderTest
from commitlog import Schema
from spark_jobs.arrow import Decoder

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
    """Rows per CPU second. Decoding adds `added_us` CPU microseconds per row to `identity`."""

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


def run(is_quick: bool) -> Result:
    rows, rounds = (20_000, 2) if is_quick else (ROWS, 5)
    with scratch_directory("decode") as scratch, SparkUnderTest.started() as spark:
        results = [_measure(kind, rows, rounds, scratch, spark) for kind in KINDS]
    print_table(
        "thousand rows per CPU second",
        results,
        {
            "rows": lambda each: each.name,
            "decoder alone": lambda each: each.decoder.text(scale=1e3),
            "scan": lambda each: each.stages["scan"].text(scale=1e3),
            "identity": lambda each: each.stages["identity"].text(scale=1e3),
            "decode": lambda each: each.stages["decode"].text(scale=1e3),
            "decoding adds, µs a row": lambda each: f"{each.added_us:.1f}",
        },
    )
    return {"kinds": results}


def _measure(
    kind: RowKind, rows: int, rounds: int, scratch: Path, spark: SparkUnderTest
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

    def rate(name: str, _: int) -> float:
        if name in stages:
            return rows / _cpu_of(stages[name], spark)
        started_s = time.thread_time()
        for batch in batches:
            decoder.decode(batch)
        return rows / (time.thread_time() - started_s)

    names = ("alone", *stages)
    rates = run_rounds(f"decoding: {kind.name}", names, rate, rounds=rounds, warm_up=1)
    spreads = {name: Spread.of(found) for name, found in rates.items()}
    added_us = 1e6 / spreads["decode"].median - 1e6 / spreads["identity"].median
    return KindResult(kind.name, rows, spreads.pop("alone"), spreads, added_us)


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


def _identity(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return iter(batches)


def _cpu_of(frame: DataFrame, spark: SparkUnderTest) -> float:
    """CPU seconds of the JVM and the workers while Spark computes and discards a frame."""
    return spark.cost_of(lambda: frame.write.format("noop").mode("overwrite").save()).cpu_s
