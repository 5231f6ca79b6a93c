"""Tests mirror the code: the path of a unit test is that of the tested module."""

import ast
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "tests"
UNIT = TESTS / "unit"
# Folders without Python modules of their own: crates, pages, manifests.
WHOLE = {"commitlog", "docs", "k8s", "spark_jobs/arrow", "spark_jobs/merge"}
PARTS = {"acceptance", "fixtures", "integration", "oracle", "support", "unit"}


def names_in(folder: Path) -> set[str]:
    """The names that a test file in `folder` may start with: modules, packages and the folder."""
    code = REPOSITORY / folder
    if folder.parts[0] == "support":
        code = TESTS / folder
    modules = {path.stem for path in code.iterdir() if not path.name.startswith((".", "_"))}
    return {name.replace("-", "_").lower() for name in modules | {folder.name}}


def test_unit_test_file_is_named_after_module() -> None:
    strangers = []
    for path in sorted(UNIT.rglob("test_*.py")):
        folder = path.parent.relative_to(UNIT)
        if not folder.parts or {folder.parts[0], "/".join(folder.parts[:2])} & WHOLE:
            continue
        subject = path.stem.removeprefix("test_")
        if not any(f"{subject}_".startswith(f"{name}_") for name in names_in(folder)):
            strangers.append(str(path.relative_to(TESTS)))
    assert strangers == []


def test_test_tree_has_five_parts() -> None:
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()} - {"__pycache__"}
    assert folders == PARTS


def test_test_modules_do_not_import_each_other() -> None:
    imports = [
        (str(path.relative_to(TESTS)), node.module)
        for path in TESTS.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
        if node.module.startswith("tests.")
        if node.module.rsplit(".", 1)[-1].startswith(("test_", "conftest"))
    ]
    assert imports == []
