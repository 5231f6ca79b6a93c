"""Generated tables: every type to a depth of three, any names, excluded columns."""

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.avro.recordings import check_content
from tests.support.avro.tables import DDL, ONE_SEGMENT, both, inserted, made_rows, named_rows


@ONE_SEGMENT
@given(made_rows())
def test_generated_avro_values_equal_the_json_values(
    tmp_path: Path, made: tuple[str, dict[str, bytes], dict[str, Any]]
) -> None:
    ddl, written, modes = made
    ids, avro, plain = both(inserted(tmp_path, ddl, written), ddl, **modes)
    check_content(ids.decoded(avro), plain)


@settings(ONE_SEGMENT, max_examples=30)
@given(named_rows("ab_-1. é"), st.sampled_from(("avro", "avro_unicode")))
def test_any_column_names_make_an_avro_schema(
    tmp_path: Path, made: tuple[str, dict[str, bytes]], names: str
) -> None:
    ddl, values = made
    ids, avro, _ = both(inserted(tmp_path, ddl, values), ddl, names=names)
    after = ids.decoded(avro)["after"]
    shown = [column["value"] for column in after.values() if column is not None]
    assert sorted(shown) == sorted([7, *range(len(values))])


def test_excluded_columns_are_missing_in_after_and_cells(tmp_path: Path) -> None:
    ddl = DDL.format(columns="a int, b int")
    path = inserted(tmp_path, ddl, {"a": b"\0\0\0\1", "b": b"\0\0\0\2"})
    _, _, whole = both(path, ddl)
    ids, avro, plain = both(path, ddl, exclude_columns=[("ks", "t", "b"), ("ks", "t", "k")])
    for found in (ids.decoded(avro), plain):
        assert [name for name in found["after"] if not name.startswith("_")] == ["k", "a"]
        assert [cell["col"] for cell in found["cells"]["cell"]] == ["a"]
    del whole["after"]["b"]
    assert plain["after"] == whole["after"]
    _, avro, plain = both(path, ddl, exclude_columns=[("ks", "t", "a"), ("ks", "t", "b")])
    assert "cell" not in plain["cells"]


def test_repeated_avro_type_is_a_reference(tmp_path: Path) -> None:
    kinds = "CREATE TYPE ks.u (x int);\n"
    ddl = kinds + DDL.format(
        columns="a frozen<u>, b frozen<u>, c tuple<int, int>, "
        "d tuple<int, int>, e frozen<list<frozen<u>>>"
    )
    ids, _, _ = both(inserted(tmp_path, ddl, {"a": b"\0\0\0\4\0\0\0\1"}), ddl)
    text = ids.schemas[-1].schema
    assert text.count('"name":"u"') == 1
    assert text.count('"name":"tuple2_int_int"') == 1
    assert text.count('"ks.u"') == 2
