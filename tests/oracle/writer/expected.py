"""Expected output of readers for a written workload."""

from dataclasses import replace

from tests.oracle.reference import Update, to_line
from tests.oracle.reference.model import PartitionUpdate, Row
from tests.oracle.writer import Form, Written
from tests.oracle.writer.strategies import Workload


def as_read(update: PartitionUpdate, form: Form) -> PartitionUpdate:
    """The update as readers return it, without empty rows (format notes §4.7)."""
    static = None if update.static is None or update.static.is_empty else update.static
    items = tuple(i for i in update.items if not (isinstance(i, Row) and i.is_empty))
    epoch = form.epoch if form.version >= 9 else None
    return replace(update, static=static, items=items, epoch=epoch)


def expected(workload: Workload, segment: Written, name: str) -> list[dict[str, object]]:
    """Canonical lines of the written content, without empty rows, which no reader returns."""
    return [
        to_line(Update(name, end, index, len(updates), as_read(update, form)))
        for section, ends in zip(workload.sections, segment.record_ends, strict=True)
        for (updates, form), end in zip(section, ends, strict=True)
        for index, update in enumerate(updates)
    ]
