"""Hostile column names: a target rejects them, or stores and returns their values."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

from sidecar.errors import ConfigError
from spark_jobs.changes.job import run as run_changes
from spark_jobs.changes.options import ChangesJobOptions
from spark_jobs.column_names import ColumnNameError, Format, require_names
from spark_jobs.rebuild.job import run as run_rebuild
from spark_jobs.rebuild.options import RebuildOptions
from spark_jobs.reconcile import view
from spark_jobs.reconcile.options import ViewOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import Batch, VersionStore
from spark_jobs.tables.commit_position import CommitPosition
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions
from tests.support.spark.options import options_of
from tests.support.spark.reserved_words import LIBRARIES, reserved_words
from tests.support.spark.typed_tables import (
    APP,
    NAME,
    TABLE_ID,
    Change,
    batch_of,
    new_table,
    row_id,
    stored_rows,
    target_options,
)

FORMATS: tuple[Format, ...] = ("delta", "iceberg", "parquet")
HOSTILE = " `.,\"'\\=;{}()[]\n\tßſ"
Levels = list[str]


def accepted(row: StructType, format_: Format) -> bool:
    try:
        require_names(NAME, row, format_, "Leave it out.")
    except ColumnNameError:
        return False
    return True


def nested(levels: Levels, inner: DataType) -> DataType:
    """`inner` within arrays, maps and structs."""
    for level in reversed(levels):
        match level:
            case "array":
                inner = ArrayType(inner)
            case "key":
                inner = MapType(inner, StringType())
            case "value":
                inner = MapType(StringType(), inner)
            case _:
                inner = StructType([StructField("s", inner)])
    return inner


def struct(names: list[str]) -> StructType:
    return StructType([StructField(name, StringType()) for name in names])


def has_twin(name: str) -> bool:
    """Whether upper and lower case differ letter by letter: `SS` is not the twin of `ß`."""
    return len(name.upper()) == len(name.lower()) == len(name) and name.upper() != name.lower()


@given(
    st.lists(st.sampled_from(["array", "key", "value", "struct"]), max_size=4),
    st.text(min_size=1, max_size=5).filter(has_twin),
    st.sampled_from(FORMATS),
)
def test_names_differing_only_in_case_are_rejected(
    levels: Levels, name: str, format_: Format
) -> None:
    twins = [name.lower(), name.upper()]
    inner = struct(["z", *twins])
    row = StructType([StructField("c", nested(levels, inner))])
    with pytest.raises(ColumnNameError) as raised:
        require_names(NAME, row, format_, "Leave it out.")
    assert str(raised.value).startswith(f"{NAME}: the columns c.")
    assert accepted(StructType([StructField("c", nested(levels, struct(["z", "y"])))]), format_)


@given(st.lists(st.sampled_from(["a", "b", "element", "key", "value", "a.b", "a.key"]), max_size=5))
def test_iceberg_path_identifies_one_field(names: list[str]) -> None:
    """Iceberg looks fields up by names joined with dots."""
    types = [StringType(), ArrayType(StringType()), MapType(StringType(), StringType())]
    row = StructType(
        [
            StructField(name, types[number % 3] if number else struct(["b"]))
            for number, name in enumerate(dict.fromkeys(names))
        ]
    )
    paths = [".".join(path) for path in _paths(row)]
    assert accepted(row, "iceberg") == (len(set(paths)) == len(paths))


def _paths(kind: DataType) -> Iterator[tuple[str, ...]]:
    match kind:
        case ArrayType():
            children = {"element": kind.elementType}
        case MapType():
            children = {"key": kind.keyType, "value": kind.valueType}
        case StructType():
            children = {each.name: each.dataType for each in kind.fields}
        case _:
            return
    for name, child in children.items():
        yield (name,)
        yield from ((name, *path) for path in _paths(child))


@pytest.mark.parametrize("format_", ["iceberg", pytest.param("delta", marks=pytest.mark.slow)])
def test_accepted_column_names_are_stored(
    spark: SparkSession, tmp_path: Path, format_: Format
) -> None:
    session = spark.newSession()
    # The jobs use the same setting.
    session.conf.set("spark.sql.caseSensitive", "true")
    words = reserved_words(spark)
    assert len(words) > len(LIBRARIES)
    names = [*words, *HOSTILE, *(f"a{each}b" for each in HOSTILE), "element", "op", "row", "s", "t"]
    columns: dict[str, DataType] = {"u": struct([])}
    for name in names:
        wanted = struct([*columns, name])
        if accepted(wanted, format_):
            columns[name] = StringType()
    fields = [name for name in names if accepted(struct([name]), "parquet")]
    distinct: list[str] = []
    for name in fields:
        if accepted(StructType([StructField("u", struct([*distinct, name]))]), format_):
            distinct.append(name)
    columns["u"] = ArrayType(struct(distinct))
    assert set(distinct) >= set(words) - {"cdc_row_id"}

    def row(value: str) -> dict[str, object]:
        return {**dict.fromkeys(columns, value), "u": [(value,) * len(distinct)]}

    table = new_table(session, target_options(session, tmp_path, format_), columns)
    batches: list[list[Change]] = [
        [(1, "c", row("a")), (2, "c", row("b"))],
        [(1, "u", row("x")), (2, "d", None)],
    ]
    for number, changes in enumerate(batches):
        position = CommitPosition(APP, TABLE_ID, number, number)
        table.commit(batch_of(session, columns, changes), position)
    stored = stored_rows(table.read())
    expected = {**row("x"), "u": [dict.fromkeys(distinct, "x")]}
    assert stored == {row_id(1): expected}


BAD = """
CREATE TYPE shop.pair (f int, "F" int);
CREATE TABLE shop.bad (id int PRIMARY KEY, pairs list<frozen<pair>>)
WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c19 AND cdc = true;
CREATE TABLE shop.good (id int PRIMARY KEY, v int)
WITH ID = 5a1c395e-b41f-11e5-9f22-ba0be0483c18 AND cdc = true;
"""
TWINS = r"shop\.bad: the columns {}pairs\.element\.f and {}pairs\.element\.F differ only in case"
EVENTS = "table STRING, token BIGINT, ck BINARY, event STRING"


@pytest.fixture
def store_settings(spark: SparkSession, tmp_path: Path) -> dict[str, str]:
    """An empty store, and the settings of jobs that use it."""
    (tmp_path / "schema.cql").write_text(BAD)
    store = VersionStore(spark, str(tmp_path / "store"), buckets=1)
    store.append(spark.createDataFrame([], EVENTS), Batch("a", 0, {}))
    return {
        "checkpoint": str(tmp_path / "checkpoint"),
        "output": store.path,
        "buckets": "1",
        "schema.file": str(tmp_path / "schema.cql"),
        "trigger": "available-now",
    }


def test_tables_job_follows_tables_with_valid_names(
    spark: SparkSession, tmp_path: Path, store_settings: dict[str, str]
) -> None:
    target = tmp_path / "tables"
    options = options_of(TablesJobOptions, {**store_settings, "target": str(target)})
    with pytest.raises(ConfigError, match=TWINS.format("", "")):
        run_tables(spark, options, stop=threading.Event())
    assert [path.name for path in (target / "shop").iterdir()] == ["good"]


def test_changes_job_follows_tables_with_valid_names(
    spark: SparkSession, tmp_path: Path, store_settings: dict[str, str]
) -> None:
    settings = {"sink": "delta", "changes.table": str(tmp_path / "{keyspace}/{table}")}
    options = options_of(ChangesJobOptions, {**store_settings, **settings, "topic.prefix": "c1"})
    with pytest.raises(ConfigError, match=TWINS.format("", "")):
        run_changes(spark, options, stop=threading.Event())
    assert [path.name for path in (tmp_path / "shop").iterdir()] == ["good"]


def test_rebuild_with_rejected_name_writes_nothing(
    spark: SparkSession, tmp_path: Path, store_settings: dict[str, str]
) -> None:
    settings = {
        "output": store_settings["output"],
        "schema.file": store_settings["schema.file"],
        "table": "shop.bad",
        "target": str(tmp_path / "rebuilt"),
        "at": "2030-01-01T00:00:00Z",
    }
    options = options_of(RebuildOptions, settings)
    with pytest.raises(ColumnNameError, match=TWINS.format("", "")):
        run_rebuild(spark, options, read_schema(options.schema_file))
    assert not (tmp_path / "rebuilt").exists()


def test_view_with_rejected_name_writes_nothing(
    tmp_path: Path, store_settings: dict[str, str]
) -> None:
    settings = {
        "output": store_settings["output"],
        "schema.file": store_settings["schema.file"],
        "table": "shop.bad",
        "view.output": str(tmp_path / "view"),
    }
    with pytest.raises(ColumnNameError, match=TWINS.format("", "")):
        view._run(options_of(ViewOptions, settings))
    assert not (tmp_path / "view").exists()
