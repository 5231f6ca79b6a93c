"""Joins and explains differing rows in the executors."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from spark_jobs.compare.digests import ComparedColumns, content, range_of
from spark_jobs.compare.report import DifferingRow, Findings
from spark_jobs.compare.row_difference import (
    Cause,
    CauseOfDifference,
    ReadTimes,
    row_differences,
    worst,
)
from spark_jobs.rebuild.statements import key_condition
from spark_jobs.rebuild.table_layout import TableLayout
from spark_jobs.reconcile.visible_rows import is_same_row, rows_that_differ

DIFFERENCES = pa.schema(
    {
        "range": pa.int32(),
        "token": pa.int64(),
        "pk": pa.binary(),
        "ck": pa.binary(),
        "key": pa.string(),
        "cause": pa.string(),
        "newest_us": pa.int64(),
        "columns": pa.string(),
    }
)
"""The columns of a differing row. `key` is a CQL condition. `newest_us` is the newest write time of
a value found only in the store. `columns` lists each column's cause and both write times."""
_KEY = ("range", "token", "pk", "ck")


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains differing rows. Can be pickled."""

    layout: TableLayout
    columns: ComparedColumns
    times: Mapping[int, ReadTimes]
    """Read times by range number."""

    def explain(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert rows with a key, `live` and `store` to rows of `DIFFERENCES`."""
        for batch in batches:
            rows = [found for row in batch.to_pylist() if (found := self._explained(row))]
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=DIFFERENCES)

    def _explained(self, row: dict[str, Any]) -> dict[str, Any] | None:
        live, store = row["live"], row["store"]
        found = row_differences(live, store, self.times[row["range"]], self.columns)
        if not found:
            return None
        only_in_store = [each.store_us for each in found if each.live_us is None]
        return {
            **{name: row[name] for name in _KEY},
            "key": self._key(row),
            "cause": worst(found),
            "newest_us": max((each for each in only_in_store if each is not None), default=None),
            "columns": "; ".join(
                f"{each.column or '(row)'}: {each.cause}"
                f" (live {_time(each.live_us)}, store {_time(each.store_us)})"
                for each in found
            ),
        }

    def _key(self, row: dict[str, Any]) -> str:
        shown = row["live"] or row["store"]
        try:
            return key_condition(self.layout, {**shown, "pk": row["pk"], "ck": row["ck"]})
        except ValueError:
            # The key contains a type without CQL literals.
            return f"partition key 0x{row['pk'].hex()}, clustering 0x{(row['ck'] or b'').hex()}"


def differing_rows(
    live: DataFrame, store: DataFrame, ranges: int, columns: ComparedColumns
) -> DataFrame:
    """The rows whose values or write times differ, with both sides as `live` and `store`."""
    number = range_of(F.col("token"), ranges)
    sides = {"live": live.withColumn("range", number), "store": store.withColumn("range", number)}
    return rows_that_differ(sides, _KEY, lambda row: content(row["cells"], columns))


def explained(rows: DataFrame, explainer: Explainer) -> DataFrame:
    """Convert each differing row to a row of `DIFFERENCES`."""
    return rows.mapInArrow(explainer.explain, from_arrow_schema(DIFFERENCES))


def with_later_writes(differences: DataFrame, changed: DataFrame) -> DataFrame:
    """Change losses of rows in `changed` to `WRITTEN_AFTER`: the store changed them later."""
    is_changed = F.col("c.range").isNotNull()
    cause = F.when(is_changed, Cause.WRITTEN_AFTER.value).otherwise(F.col("d.cause"))
    joined = differences.alias("d").join(
        changed.select(*_KEY).alias("c"),
        is_same_row("d", "c", _KEY) & (F.col("d.cause") == Cause.LOSS.value),
        "left",
    )
    return joined.select(
        *(
            cause.alias(name) if name == "cause" else F.col(f"d.{name}").alias(name)
            for name in DIFFERENCES.names
        )
    )


def _time(ts_us: int | None) -> str:
    return "none" if ts_us is None else str(ts_us)


def findings(found: DataFrame, kind: type[CauseOfDifference], limit: int) -> Findings:
    """Count rows by cause, and collect up to `limit` rows of each cause.

    `found` has the columns `cause`, `key`, `columns` and `token`.
    """
    of_cause = Window.partitionBy("cause")
    ranked = found.select(
        *("cause", "key", "columns"),
        F.count(F.lit(1)).over(of_cause).alias("rows"),
        F.row_number().over(of_cause.orderBy("token", "key")).alias("number"),
    )
    causes = kind.by_name()
    some = ranked.where(F.col("number") <= limit).collect()
    some.sort(key=lambda row: (causes[row["cause"]].severity, row["number"]))
    rows = [DifferingRow(causes[row["cause"]], row["key"], row["columns"]) for row in some]
    return Findings({causes[row["cause"]]: row["rows"] for row in some}, rows)
