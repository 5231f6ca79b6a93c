"""The notebooks of examples/spark run, and print their stored outputs."""

import ast
import gzip
import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.checks.notebooks import code_cells, printed, stored_output
from tests.support.segments.recorded_orders import EXAMPLES, files

NOTEBOOK = EXAMPLES / "spark" / "orders.ipynb"


@pytest.mark.slow
def test_notebook_cells_print_their_stored_outputs(
    spark: SparkSession, jars_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CDC_JARS", str(jars_directory))
    for cell, text in zip(code_cells(NOTEBOOK), printed(NOTEBOOK), strict=True):
        # `python -m tests.support.checks.notebooks` stores the outputs of a changed notebook.
        assert text == stored_output(cell), "".join(cell["source"])


def test_notebook_imports_work() -> None:
    """`make test-all` runs the cells themselves."""
    for cell in code_cells(NOTEBOOK):
        statements = ast.parse("".join(cell["source"])).body
        imports: list[ast.stmt] = [
            each for each in statements if isinstance(each, ast.Import | ast.ImportFrom)
        ]
        exec(compile(ast.Module(imports, []), NOTEBOOK.name, "exec"), {})


def test_notebook_events_equal_the_recording() -> None:
    for path, values in files().items():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            stored = [json.loads(line) for line in lines]
        # The time of the conversion differs.
        assert [each | {"ts_ms": 0} for each in stored] == [each | {"ts_ms": 0} for each in values]
