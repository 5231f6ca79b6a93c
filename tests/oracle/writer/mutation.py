"""Mutations as bytes: the reverse of the plain reader (format notes §4.1 to §4.3)."""

from collections.abc import Iterable, Iterator, Sequence

from tests.oracle.reference.cql_types import is_complex
from tests.oracle.reference.model import Bound, Cell, Deletion, Liveness, PartitionUpdate, Row
from tests.oracle.reference.mutation import (
    HAS_PARTITION_DELETION,
    HAS_ROW_ESTIMATE,
    HAS_STATIC_ROW,
    IS_EMPTY,
)
from tests.oracle.reference.schema import Table
from tests.oracle.reference.times import LDT_EPOCH_S, TIMESTAMP_EPOCH_US
from tests.oracle.writer.form import Bases, Form
from tests.oracle.writer.numbers import difference, difference32, uvint, vbytes
from tests.oracle.writer.rows import RowForm, columns_of


def write_mutation(updates: Sequence[PartitionUpdate], form: Form) -> bytes:
    """A payload of these updates. Source: Mutation$MutationSerializer."""
    flags = b"" if form.version < 9 else bytes([form.flags])
    # A frequent update is encoded once.
    written = {key: write_update(each, form) for key, each in {id(u): u for u in updates}.items()}
    return flags + uvint(len(updates)) + b"".join(written[id(each)] for each in updates)


def write_update(update: PartitionUpdate, form: Form) -> bytes:
    """One partition update. Source: PartitionUpdate$PartitionUpdateSerializer; §4.2."""
    out = update.table.id.bytes
    if form.version >= 9:
        out += difference(form.epoch)
    out += vbytes(update.key)
    is_empty = update.deletion is None and update.static is None and not update.items
    if is_empty and form.is_empty_flag_used:
        return out + bytes([IS_EMPTY])
    flags = 0
    if update.deletion is not None:
        flags |= HAS_PARTITION_DELETION
    if update.static is not None:
        flags |= HAS_STATIC_ROW
    if form.has_row_estimate:
        flags |= HAS_ROW_ESTIMATE
    bases = form.bases or smallest_times(update)
    out += bytes([flags])
    out += difference(bases.timestamp_us - TIMESTAMP_EPOCH_US)
    out += difference32(bases.ldt_s - LDT_EPOCH_S) + difference32(bases.ttl_s)
    rows = [item for item in update.items if isinstance(item, Row)]
    statics = [] if update.static is None else [update.static]
    # A name is either a static or a regular column, according to the caller's rows.
    of_statics, of_rows = _used(statics), _used(rows)
    unused = form.unused_columns & update.table.columns.keys()
    listed_statics = _in_order(of_statics, update.table)
    listed = _in_order(of_rows | unused - of_statics, update.table)
    if update.static is not None:
        out += _names(listed_statics)
    out += _names(listed)
    written = RowForm(
        form.version, bases, update.table.clustering, update.table.columns, form.shares_times
    )
    if update.deletion is not None:
        out += written.deletion(update.deletion)
    if update.static is not None:
        out += written.row(update.static, listed_statics)
    if form.has_row_estimate:
        out += uvint(len(update.items))
    return out + b"".join(written.item(item, listed) for item in update.items) + b"\x01"


def smallest_times(update: PartitionUpdate) -> Bases:
    """Bases that a node chooses, epochs without such a time (EncodingStats)."""
    timestamps, ldts, ttls = [], [], []
    for times in _times(update):
        timestamps.append(times.timestamp_us)
        if times.ldt_s is not None:
            ldts.append(times.ldt_s)
        if not isinstance(times, Deletion) and times.ttl_s is not None:
            ttls.append(times.ttl_s)
    return Bases(
        min(timestamps, default=TIMESTAMP_EPOCH_US),
        min(ldts, default=LDT_EPOCH_S),
        min(ttls, default=0),
    )


def _times(update: PartitionUpdate) -> Iterator[Deletion | Liveness | Cell]:
    if update.deletion is not None:
        yield update.deletion
    for item in (update.static, *update.items):
        if isinstance(item, Row):
            if item.liveness is not None:
                yield item.liveness
            if item.deletion is not None:
                yield item.deletion
            yield from (complex_deletion.deletion for complex_deletion in item.complex_deletions)
            yield from item.cells
        elif isinstance(item, Bound):
            yield item.deletion
        elif item is not None:
            yield from (item.close, item.open)


def _used(rows: Iterable[Row]) -> set[str]:
    return {name for row in rows for name in columns_of(row)}


def _in_order(names: set[str], table: Table) -> list[str]:
    """Simple columns, then complex ones, each by the bytes of the name (§4.3)."""
    return sorted(names, key=lambda name: (is_complex(table.columns[name]), name.encode()))


def _names(names: Sequence[str]) -> bytes:
    return uvint(len(names)) + b"".join(vbytes(name.encode()) for name in names)
