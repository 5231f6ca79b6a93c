"""Decodes the raw rows of a table into typed Arrow batches, in Rust.

A decoder can be pickled, so Spark can send it to executors:

    frame.mapInArrow(decoder.decode_all, spark_schema)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from commitlog import Schema
from spark_jobs._rows import RowDecoder

__all__ = ["Decoder"]


class Decoder:
    """Decodes batches of one table. Takes the arguments of `RowDecoder`.

    docs/reference/types.md (section 6) lists the types."""

    def __init__(
        self,
        schema: Schema,
        keyspace: str,
        table: str,
        *,
        table_id: str | None = None,
        show: Mapping[str, str] | None = None,
        partition_key: str | None = None,
        clustering: str | None = None,
        carry: Sequence[str] = (),
    ) -> None:
        self._table = (keyspace, table)
        self._choices: dict[str, Any] = {
            "table_id": table_id,
            "show": dict(show or {}),
            "partition_key": partition_key,
            "clustering": clustering,
            "carry": list(carry),
        }
        self._rows = RowDecoder(schema, keyspace, table, **self._choices)

    @property
    def schema(self) -> pa.Schema:
        """The carried columns, then the typed columns in the order of `SELECT *`."""
        return pa.schema(self._rows)

    def decode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Decode one batch to the columns of `schema`.

        Raise ValueError for a column that is unknown or has the wrong type, MalformedValueError
        for bytes that do not fit their type."""
        return pa.record_batch(self._rows.decode(batch))

    def decode_all(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decode batches one by one, for `DataFrame.mapInArrow`."""
        return map(self.decode, batches)

    def __reduce__(self) -> tuple[Any, ...]:
        stored = self._rows.table_schema.to_stored()
        return _from_stored, (stored, *self._table, self._choices)


def _from_stored(stored: bytes, keyspace: str, table: str, choices: dict[str, Any]) -> Decoder:
    return Decoder(Schema.from_stored(stored), keyspace, table, **choices)
