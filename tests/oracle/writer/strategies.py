"""Random schemas and mutations of every shape that a commit log can contain, for hypothesis.

Values are bytes of a length that their type allows, without meaning: neither reader decodes
them.
"""

from dataclasses import dataclass, replace
from typing import TypeVar
from uuid import UUID

from hypothesis import strategies as st

from tests.oracle.reference import Schema, Table, parse_schema
from tests.oracle.reference.cql_types import (
    FIXED_LENGTHS,
    VARIABLE_LENGTH,
    Collection,
    CqlType,
    Native,
    UserType,
    fixed_length,
    is_complex,
)
from tests.oracle.reference.model import (
    Bound,
    Boundary,
    Cell,
    Clustering,
    ComplexDeletion,
    Deletion,
    Item,
    Liveness,
    PartitionUpdate,
    Row,
)
from tests.oracle.reference.rows import BOUND_KINDS, BOUNDARY_KINDS
from tests.oracle.reference.times import LIVE_TIMESTAMP_US
from tests.oracle.writer.form import Bases, Form

T = TypeVar("T")

NATIVE_TYPES = [*FIXED_LENGTHS, *sorted(VARIABLE_LENGTH - {"counter", "varchar"})]
SIMPLE_TYPES = [
    *NATIVE_TYPES,
    "frozen<list<int>>",
    "frozen<map<text, frozen<set<uuid>>>>",
    "tuple<int, text>",
    "frozen<u>",
    "vector<float, 3>",
    "vector<text, 2>",
    "'org.apache.cassandra.db.marshal.LexicalUUIDType'",
]
COMPLEX_TYPES = ["list<int>", "set<text>", "map<int, bigint>", "map<text, frozen<u>>", "u"]
CLUSTERING_TYPES = ["int", "text", "bigint", "uuid", "blob", "smallint", "frozen<list<int>>"]

FEW = 6
ALIKE = "int"
"""Most of very many columns are alike, so that an example stays small."""

TIMESTAMPS_US = st.one_of(
    st.integers(1_700_000_000_000_000, 1_700_000_000_000_300),
    st.integers(LIVE_TIMESTAMP_US + 1, (1 << 63) - 1),
    st.sampled_from([0, -1, LIVE_TIMESTAMP_US + 1, (1 << 63) - 1]),
)
TTLS_S = st.one_of(st.integers(0, 1000), st.sampled_from([630_720_000, (1 << 31) - 1]))


@dataclass(frozen=True, slots=True)
class Workload:
    """A schema and mutations of its tables, in sections; each mutation has its own form."""

    schema_text: str
    sections: list[list[tuple[tuple[PartitionUpdate, ...], Form]]]


@st.composite
def schemas(draw: st.DrawFn) -> str:
    """CQL of one or two tables: some without clustering, some with very many columns."""
    statements = ["CREATE TYPE k.u (a int, b text, c frozen<list<int>>);"]
    statements += [draw(_create_table(number)) for number in range(draw(st.integers(1, 2)))]
    return "\n".join(statements)


@st.composite
def _create_table(draw: st.DrawFn, number: int) -> str:
    clustering = draw(_often(st.integers(0, 3), st.sampled_from([31, 32, 33, 40, 65])))
    regular = draw(_often(st.integers(0, 6), st.sampled_from([62, 63, 64, 65, 130])))
    statics = draw(st.integers(0, 3)) if clustering else 0
    types = st.sampled_from(SIMPLE_TYPES + COMPLEX_TYPES)
    columns = ["p text"]
    columns += [f"k{i} {CLUSTERING_TYPES[i % len(CLUSTERING_TYPES)]}" for i in range(clustering)]
    columns += [f'"Static {i}" {draw(types)} static' for i in range(statics)]
    columns += [f'"ü{i}" {draw(types) if i < FEW else ALIKE}' for i in range(regular)]
    keys = ", ".join(["p", *(f"k{i}" for i in range(clustering))])
    uuid_version = draw(st.sampled_from([1, 3, 4]))
    table_id = UUID(int=(0x5A1C395E << 96) + number, version=uuid_version)
    columns.append(f"PRIMARY KEY ({keys})")
    return f"CREATE TABLE k.t{number} ({', '.join(columns)}) WITH ID = {table_id};"


def values(cql_type: CqlType) -> st.SearchStrategy[bytes]:
    """Bytes of a clustering or a simple cell; all types allow none at all."""
    length = fixed_length(cql_type)
    if length is not None:
        return st.one_of(st.binary(min_size=length, max_size=length), st.just(b""))
    return st.one_of(st.binary(max_size=12), st.integers(120, 300).map(lambda size: b"x" * size))


def paths(cql_type: CqlType) -> st.SearchStrategy[bytes]:
    """Paths of the elements of a complex column (§4.8.3)."""
    match cql_type:
        case Collection("list"):
            return st.binary(min_size=16, max_size=16)
        case UserType(fields=fields):
            return st.integers(0, len(fields) - 1).map(lambda field: field.to_bytes(2, "big"))
        case _:
            return st.binary(max_size=8)


@dataclass(frozen=True, slots=True)
class Shapes:
    """Strategies for one version, which limits local deletion times."""

    version: int

    def ldts(self) -> st.SearchStrategy[int | None]:
        """None is "never"; the last numbers before it have no meaning but are read like it."""
        usual = st.integers(1_700_000_000, 1_700_000_200)
        if self.version >= 8:
            return st.one_of(usual, st.integers(0, (1 << 32) - 2), st.none())
        return st.one_of(usual, st.integers(-(1 << 31), (1 << 31) - 2), st.none())

    def deletions(self) -> st.SearchStrategy[Deletion]:
        return st.builds(Deletion, TIMESTAMPS_US, self.ldts())

    def livenesses(self) -> st.SearchStrategy[Liveness]:
        plain = st.builds(Liveness, TIMESTAMPS_US, st.none(), st.none())
        return st.one_of(plain, st.builds(Liveness, TIMESTAMPS_US, TTLS_S, self.ldts()))

    def cells(
        self,
        column: str,
        cell_values: st.SearchStrategy[bytes],
        path: bytes | None,
        liveness: Liveness | None,
    ) -> st.SearchStrategy[Cell]:
        """Cells of each kind; some are as old as their row, and expire with it."""
        timestamps, ttls, ldts = TIMESTAMPS_US, TTLS_S, self.ldts()
        if liveness is not None:
            timestamps = _often(st.just(liveness.timestamp_us), timestamps)
            if liveness.ttl_s is not None:
                ttls = _often(st.just(liveness.ttl_s), ttls)
                ldts = _often(st.just(liveness.ldt_s), ldts)
        none: st.SearchStrategy[None] = st.none()

        def cell(
            ttl: st.SearchStrategy[int] | st.SearchStrategy[None],
            ldt: st.SearchStrategy[int | None] | st.SearchStrategy[None],
            value: st.SearchStrategy[bytes] | st.SearchStrategy[None],
        ) -> st.SearchStrategy[Cell]:
            return st.builds(Cell, st.just(column), st.just(path), timestamps, ttl, ldt, value)

        live = cell(none, none, cell_values)
        return st.one_of(live, live, cell(ttls, ldts, cell_values), cell(none, ldts, none))

    @st.composite
    @staticmethod
    def rows(draw: st.DrawFn, self: "Shapes", table: Table, *, is_static: bool) -> Row:
        names = sorted(name for name in table.columns if name.startswith("Static") == is_static)
        # A few columns, or all but a few: both forms of a large subset.
        some = draw(st.sets(st.sampled_from(names), max_size=4)) if names else set()
        present = sorted(set(names) - some if draw(st.booleans()) else some)
        liveness = draw(st.none() | self.livenesses())
        deletion = draw(st.none() | self.deletions())
        complex_deletions: list[ComplexDeletion] = []
        cells: list[Cell] = []
        alike: Cell | None = None
        for name in present:
            cql_type = table.columns[name]
            if len(names) > 2 * FEW and cql_type == Native(ALIKE):
                alike = alike or draw(self.cells(name, values(cql_type), None, liveness))
                cells.append(replace(alike, column=name))
                continue
            if not is_complex(cql_type):
                cells.append(draw(self.cells(name, values(cql_type), None, liveness)))
                continue
            if draw(st.booleans()):
                complex_deletions.append(ComplexDeletion(name, draw(self.deletions())))
            elements = st.binary(max_size=9)
            for path in sorted(draw(st.sets(paths(cql_type), max_size=3))):
                cells.append(draw(self.cells(name, elements, path, liveness)))
        return Row(
            None if is_static else draw(clusterings(table.clustering)),
            liveness,
            deletion,
            deletion is not None and draw(st.booleans()),
            tuple(complex_deletions),
            tuple(cells),
        )

    @st.composite
    @staticmethod
    def markers(draw: st.DrawFn, self: "Shapes", table: Table) -> Item:
        prefix = draw(clusterings(table.clustering[: draw(st.integers(0, len(table.clustering)))]))
        if draw(st.booleans()):
            kind = draw(st.sampled_from(sorted(BOUND_KINDS.values())))
            return Bound(kind, prefix, draw(self.deletions()))
        kind = draw(st.sampled_from(sorted(BOUNDARY_KINDS.values())))
        return Boundary(kind, prefix, draw(self.deletions()), draw(self.deletions()))

    @st.composite
    @staticmethod
    def updates(draw: st.DrawFn, self: "Shapes", table: Table) -> PartitionUpdate:
        has_static = any(name.startswith("Static") for name in table.columns)
        item = st.one_of(Shapes.rows(self, table, is_static=False), Shapes.markers(self, table))
        return PartitionUpdate(
            table,
            draw(st.binary(max_size=20) | st.just(b"k" * 200)),
            draw(st.none() | self.deletions()),
            draw(Shapes.rows(self, table, is_static=True)) if has_static else None,
            tuple(draw(st.lists(item, max_size=4))),
        )


def _often(usual: st.SearchStrategy[T], other: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    return st.one_of(usual, usual, other)


@st.composite
def clusterings(draw: st.DrawFn, types: tuple[CqlType, ...]) -> Clustering:
    """Values of clustering columns, null and empty ones too; one value for each type."""
    drawn = {repr(t): draw(values(t)) for t in types[: len(CLUSTERING_TYPES)]}
    nulls, empties = (draw(st.just(0) | st.integers(0, (1 << len(types)) - 1)) for _ in range(2))
    return tuple(
        None if nulls >> i & 1 else b"" if empties >> i & 1 else drawn[repr(t)]
        for i, t in enumerate(types)
    )


def forms(version: int) -> st.SearchStrategy[Form]:
    """Forms of a mutation, including bases that no node would choose."""
    bases = st.builds(
        Bases,
        st.integers(-(1 << 63), (1 << 63) - 1),
        st.integers(-(1 << 31), (1 << 32) - 1),
        st.integers(0, (1 << 31) - 1),
    )
    return st.builds(
        Form,
        version=st.just(version),
        flags=st.sampled_from([0, 0, 1]),
        epoch=st.sampled_from([0, 1, 127, 128, 1 << 56, (1 << 63) - 1, -(1 << 63), -(1 << 63) + 1]),
        bases=st.none() | bases,
        unused_columns=st.sets(st.sampled_from(["ü0", "ü1", "ü5"])).map(frozenset),
        shares_times=st.booleans(),
        has_row_estimate=st.booleans(),
        is_empty_flag_used=st.booleans(),
    )


@st.composite
def workloads(draw: st.DrawFn, version: int) -> Workload:
    """Sections of mutations for one version; sections may be empty, mutations large."""
    text = draw(schemas())
    schema: Schema = parse_schema(text)
    shapes = Shapes(version)
    update = st.one_of(*(Shapes.updates(shapes, table) for table in schema.tables.values()))
    few = st.lists(update, min_size=1, max_size=2).map(tuple)
    # As many updates as one byte can count, or more.
    many = st.tuples(update, st.integers(127, 129)).map(lambda drawn: (drawn[0],) * drawn[1])
    mutation = st.one_of(few, few, few, many)
    section = st.lists(st.tuples(mutation, forms(version)), max_size=3)
    return Workload(text, draw(st.lists(section, min_size=1, max_size=3)))
