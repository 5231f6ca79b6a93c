"""docs/explanation/security.md lists each module that parses external text."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from mongo_agent.regular_expressions import ExpressionError
from mongo_agent.snapshot.collections import name_expression

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "docs" / "explanation" / "security.md"
HEADING = "## 4. What comes from outside"
ROOMS = ("agent", "sidecar", "mongo_agent")
PARSERS = {
    "bson": {"decode", "decode_all", "decode_iter"},
    "configparser": {"ConfigParser"},
    "csv": {"reader", "DictReader"},
    "ElementTree": {"fromstring", "parse", "iterparse", "XML"},
    "gzip": {"decompress", "open"},
    "hocon": {"parse_file", "parse_string"},
    "javaobj": {"load", "loads"},
    "json": {"load", "loads"},
    "json_util": {"loads"},
    "orjson": {"loads"},
    "request": {"get_json"},
    "struct": {"iter_unpack", "unpack", "unpack_from"},
    "tomllib": {"load", "loads"},
    "x509": {"load_der_x509_certificate", "load_pem_x509_certificate"},
    "yaml": {"load", "load_all", "parse", "safe_load", "safe_load_all"},
}
"""Parsing functions by their module or object."""
FUNCTIONS = {
    "HTTPConnection",
    "HTTPResponse",
    "bounded_json",
    "bounded_yaml",
    "parse_qsl",
    "urlopen",
    "urlsplit",
}


def parsers(source: str) -> Iterator[str]:
    """The calls in a module that parse text."""
    tree = ast.parse(source)
    aliases = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name):
            name = aliases.get(called.id, called.id)
            if name in FUNCTIONS or any(
                name in names and name not in ("open", "load", "parse")
                for names in PARSERS.values()
            ):
                yield name
            if called.id == "int" and "headers" in ast.unparse(node):
                yield "int of a header"
        elif isinstance(called, ast.Attribute):
            owner = called.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            name = aliases.get(name, name).rpartition(".")[2]
            if called.attr in PARSERS.get(name, ()) or called.attr in FUNCTIONS:
                yield f"{name}.{called.attr}"


def parsing_modules() -> set[str]:
    return {
        str(file.relative_to(REPOSITORY))
        for room in ROOMS
        for file in (REPOSITORY / room).rglob("*.py")
        if any(parsers(file.read_text(encoding="utf-8")))
    }


def rows() -> list[list[str]]:
    """The cells of each row: subject, bound, modules, tests."""
    section = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_parsing_modules_are_listed() -> None:
    listed = {module for row in rows() for module in named(row[2])}
    assert parsing_modules() - listed == set(), "add a row with a bound and a test"
    assert [module for module in listed if not (REPOSITORY / module).is_file()] == []


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_every_parser_row_states_bound_place_and_test(row: list[str]) -> None:
    assert len(row) == 4
    assert all(row)
    tests = named(row[3])
    assert tests
    for test in tests:
        path, _, function = test.partition("::")
        text = (REPOSITORY / "tests" / path).read_text(encoding="utf-8")
        assert f"def {function}(" in text if function else "def test_" in text


@pytest.mark.parametrize(
    "source",
    [
        "import json\njson.loads(text)",
        "import json as other\nother.load(file)",
        "from json import loads\nloads(text)",
        "from orjson import loads as parse\nparse(text)",
        "import xml.etree.ElementTree as ET\nET.fromstring(text)",
        "from xml.etree import ElementTree\nElementTree.parse(file)",
        "import yaml\nyaml.safe_load(text)",
        "import struct\nstruct.unpack('<I', data)",
        "from flask import request\nrequest.get_json()",
        "int(response.headers['Content-Length'])",
        "from sidecar.bounded_json import bounded_json\nbounded_json(data, 1)",
        "import urllib.request\nurllib.request.urlopen(url)",
    ],
)
def test_parser_calls_are_found(source: str) -> None:
    assert list(parsers(source))


CACHES = {
    "sidecar/http/hosts.py machine_names": "no argument",
    "sidecar/page/pages.py page_text": "files of the package",
    "sidecar/page/pages.py security_policy": "texts of these files",
}
"""Functions that cache their results, with the origin of their arguments."""


def test_caches_have_no_external_keys() -> None:
    """A client that invents keys would fill the cache."""
    found = {
        f"{file.relative_to(REPOSITORY)} {node.name}"
        for room in ROOMS
        for file in (REPOSITORY / room).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for decorator in node.decorator_list
        if re.fullmatch(r"(functools\.)?(lru_)?cache(\(.*\))?", ast.unparse(decorator))
    }
    assert found == set(CACHES)


@pytest.mark.parametrize("room", ROOMS)
def test_modules_with_internal_caches_are_not_imported(room: str) -> None:
    """`fnmatch` caches 32,768 patterns."""
    for file in (REPOSITORY / room).rglob("*.py"):
        assert not re.search(r"^\s*(import|from) (fnmatch|glob)\b", file.read_text(), re.MULTILINE)


def test_signal_expressions_are_not_cached() -> None:
    before = len(re._cache)  # type: ignore[attr-defined]
    for number in range(20):
        name_expression(f"shop{number}[.]orders{number}", is_linear=True)
        with pytest.raises(ExpressionError):
            name_expression(f"(?!shop{number})[.]orders{number}", is_linear=True)
    assert len(re._cache) == before  # type: ignore[attr-defined]


def test_other_calls_are_not_parsers() -> None:
    assert not list(parsers("import json\njson.dumps(1)\nint(self.count)\nfile.open()\nopen(a)"))
