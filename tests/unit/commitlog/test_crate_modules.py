"""Sibling modules of a crate depend on each other in one direction, at every level."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
WORD = re.compile(r"[A-Za-z_]\w*|::|[{},*;]")
PATH_START = re.compile(r"\b(?:crate|self|super)\b\s*::")
INLINE_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*\nmod \w+ \{.*", re.MULTILINE | re.DOTALL)

Module = tuple[str, ...]


def source_of(path: Path) -> str:
    """The text of a module without comments and inline tests."""
    return re.sub(r"//.*", "", INLINE_TESTS.sub("", path.read_text(encoding="utf-8")))


def modules_of(crate: Path) -> dict[Module, Path]:
    """Each module by its path in the crate; `()` is the root. Test modules are omitted."""
    source = crate / "src"
    modules: dict[Module, Path] = {}
    for path in sorted(source.rglob("*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        if "tests" in parts or parts[0] in {"bin", "main"}:
            continue
        if parts[-1] in {"mod", "lib"}:
            parts = parts[:-1]
        modules[parts] = path
    return modules


def used_paths(text: str) -> Iterator[list[str]]:
    """Each path that starts with `crate`, `self` or `super`; groups in braces are expanded."""
    for start in PATH_START.finditer(text):
        if text[: start.start()].rstrip().endswith("::"):
            continue
        yield from spread([], WORD.findall(text[start.start() : start.start() + 2_000]))


def spread(prefix: list[str], words: list[str]) -> Iterator[list[str]]:
    """Walks one path: names joined by `::`, or a group of paths in braces after the last `::`."""
    path = list(prefix)
    at = 0
    while at < len(words):
        if words[at] == "{":
            at += 1
            depth = 1
            item: list[str] = []
            while at < len(words) and depth:
                word = words[at]
                depth += (word == "{") - (word == "}")
                if (word == "," and depth == 1) or depth == 0:
                    yield from spread(path, item)
                    item = []
                else:
                    item.append(word)
                at += 1
            return
        path.append(words[at])
        if at + 1 >= len(words) or words[at + 1] != "::":
            break
        at += 2
    if len(path) > len(prefix):
        yield path


class Crate:
    """Resolves used paths to modules, re-exports included."""

    def __init__(self, directory: Path) -> None:
        self.modules = modules_of(directory)
        self.sources = {module: source_of(path) for module, path in self.modules.items()}
        self.exports: dict[Module, dict[str, list[str]]] = {}
        for module, text in self.sources.items():
            found: dict[str, list[str]] = {}
            for match in re.finditer(
                r"^\s*(?:pub(?:\([^)]*\))? )?use ([^;]*);", text, re.MULTILINE
            ):
                for path in spread([], WORD.findall(match[1])):
                    found[path[-1]] = path
            self.exports[module] = found

    def absolute(self, module: Module, path: list[str], depth: int = 0) -> Module:
        head, *rest = path
        base = {"crate": (), "self": module, "super": module[:-1]}.get(head)
        if base is None:
            return self.followed(module, path, depth)
        while rest and rest[0] == "super":
            base, rest = base[:-1], rest[1:]
        return self.followed(base, rest, depth)

    def followed(self, base: Module, rest: list[str], depth: int = 0) -> Module:
        """The module that defines the target of a path."""
        while rest and (*base, rest[0]) in self.modules:
            base, rest = (*base, rest[0]), rest[1:]
        exported = self.exports.get(base, {}).get(rest[0]) if rest and depth < 5 else None
        if exported and (
            exported[0] in {"crate", "self", "super"} or (*base, exported[0]) in self.modules
        ):
            return self.absolute(base, exported, depth + 1)
        return base

    def arrows(self) -> dict[tuple[Module, Module], set[str]]:
        """The uses between siblings. A use in a nested module counts for its enclosing sibling."""
        arrows: dict[tuple[Module, Module], set[str]] = {}
        for module, text in self.sources.items():
            for path in used_paths(text):
                target = self.absolute(module, path)
                shared = 0
                while shared < min(len(module), len(target)) and module[shared] == target[shared]:
                    shared += 1
                if shared < len(module) and shared < len(target):
                    arrow = module[: shared + 1], target[: shared + 1]
                    arrows.setdefault(arrow, set()).add("::".join(module))
        return arrows


_MANIFESTS = REPOSITORY.glob("*/*/Cargo.toml")
CRATES = sorted(str(path.parent.relative_to(REPOSITORY)) for path in _MANIFESTS)


@pytest.mark.parametrize("name", CRATES)
def test_crate_modules_have_no_import_cycle(name: str) -> None:
    arrows = Crate(REPOSITORY / name).arrows()
    users: dict[Module, set[Module]] = {}
    for user, used in arrows:
        users.setdefault(user, set()).add(used)
    try:
        TopologicalSorter(users).prepare()
    except CycleError as error:
        lines = [
            f"  {'::'.join(user)} uses {'::'.join(used)} in {', '.join(sorted(files))}"
            for (user, used), files in sorted(arrows.items())
            if user in error.args[1] and used in error.args[1]
        ]
        pytest.fail(f"{name}: a circle of modules\n" + "\n".join(lines))
