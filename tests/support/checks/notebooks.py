"""Runs notebooks without a kernel, and stores the text that their cells print.

`python -m tests.support.checks.notebooks NOTEBOOK` runs a notebook in its folder and stores the
outputs.
"""

import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from tests.support.spark.session import fetched_jars, local_session, quiet_java_options


def code_cells(notebook: Path) -> list[dict[str, Any]]:
    """The code cells of a notebook (format 4)."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def stored_output(cell: dict[str, Any]) -> str:
    """The printed text that a code cell stores."""
    return "".join(line for output in cell["outputs"] for line in output["text"])


def printed(notebook: Path) -> Iterator[str]:
    """Run the code cells in order in the notebook's folder. Yields what each one prints."""
    variables: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), 1):
        code = compile("".join(cell["source"]), f"{notebook.name}[{number}]", "exec")
        with chdir(notebook.parent), redirect_stdout(io.StringIO()) as text:
            exec(code, variables)
        yield text.getvalue()


def with_outputs(notebook: Path, texts: Sequence[str]) -> str:
    """The notebook with these outputs of its code cells."""
    content = json.loads(notebook.read_text(encoding="utf-8"))
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "code"]
    for number, (cell, text) in enumerate(zip(cells, texts, strict=True), 1):
        output = {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}
        cell |= {"execution_count": number, "outputs": [output] if text else []}
    return json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def main() -> None:
    notebook = Path(sys.argv[1]).resolve()
    os.environ["CDC_JARS"] = str(fetched_jars())
    with tempfile.TemporaryDirectory() as folder:
        options = quiet_java_options(Path(folder))
        with local_session(fetched_jars(), options, Path(folder) / "warehouse"):
            texts = list(printed(notebook))
    notebook.write_text(with_outputs(notebook, texts), encoding="utf-8")


if __name__ == "__main__":
    main()
