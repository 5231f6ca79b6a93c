"""Random deletions: cells, elements, rows, prefixes, ranges of one and of several columns."""

from collections.abc import Sequence

from tests.support.workloads.random_tables import Column
from tests.support.workloads.soak.writer import Writer


def delete_where(writer: Writer, where: str, targets: str = "") -> str:
    """A deletion of what `where` says, or of the targets in it."""
    what = f" {targets}" if targets else ""
    return f"DELETE{what} FROM {writer.table.full_name}{writer.using(ttl=False)} WHERE {where}"


def delete_cells(writer: Writer, columns: Sequence[Column], where: str) -> str:
    """Columns, elements or fields of some of the columns."""
    chosen = writer.rng.sample(columns, min(len(columns), writer.rng.choice((1, 1, 2, 5, 70))))
    return delete_where(writer, where, ", ".join(_target(writer, each) for each in chosen))


def _target(writer: Writer, column: Column) -> str:
    if column.type.is_multi_cell and writer.rng.random() < 0.5:
        if column.type.fields:
            return f"{column.name}.{writer.rng.choice(column.type.fields)}"
        if column.type.name in ("map", "set"):
            return f"{column.name}[{writer.element(column.type.of[0])}]"
    return column.name


def delete_range(writer: Writer) -> str:
    """A prefix, or everything on one side of a bound or between two."""
    rng, table = writer.rng, writer.table
    depth = rng.randrange(len(table.clustering))
    where = writer.partition() + writer.clustering(depth)
    choice = rng.random()
    if choice < 0.15 and depth > 0:
        return delete_where(writer, " AND ".join(where))
    if choice < 0.3 and depth > 0:
        return delete_where(writer, " AND ".join([*writer.partition(), *_tuples(writer)]))
    column, values = table.clustering[depth], table.clusterings[depth]
    if choice < 0.4 and len(set(values)) > 1:
        where.append(f"{column.name} IN ({', '.join(dict.fromkeys(values[:2]))})")
    elif choice < 0.7:
        where.append(f"{column.name} {rng.choice(('<', '<=', '>', '>='))} {rng.choice(values)}")
    else:
        where.append(f"{column.name} {rng.choice(('>', '>='))} {rng.choice(values)}")
        where.append(f"{column.name} {rng.choice(('<', '<='))} {rng.choice(values)}")
    return delete_where(writer, " AND ".join(where))


def _tuples(writer: Writer) -> list[str]:
    """Bounds over the first columns together; in mixed orders one bound makes several ranges."""
    rng, table = writer.rng, writer.table
    count = rng.randrange(1, min(len(table.clustering), 3) + 1)
    names = ", ".join(each.name for each in table.clustering[:count])

    def bound(operators: tuple[str, str]) -> str:
        values = ", ".join(rng.choice(each) for each in table.clusterings[:count])
        return f"({names}) {rng.choice(operators)} ({values})"

    low, high = bound((">", ">=")), bound(("<", "<="))
    return rng.choice(([low], [high], [low, high]))
