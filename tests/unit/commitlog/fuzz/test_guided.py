"""What stands around the guided targets; they themselves run by `make fuzz`."""

import re
from pathlib import Path

import pytest

from tests.support.fuzz.corpus import KEPT_BYTES, keep_inputs, kept_inputs
from tests.support.fuzz.every_bit import FRAMINGS
from tests.support.fuzz.guided import CRATE, FuzzError, compiler_environment
from tests.support.fuzz.seeds import TARGETS, seeds

SOURCES = CRATE.parent / "src"


@pytest.mark.parametrize("target", TARGETS)
def test_each_target_has_a_program_seeds_and_a_corpus(target: str) -> None:
    program = (CRATE / "src" / "bin" / f"{target}.rs").read_text(encoding="utf-8")
    assert f"commitlog_fuzz::{target}(" in program
    assert f'("{target}", {target})' in (SOURCES / "lib.rs").read_text(encoding="utf-8")
    assert seeds(target)
    assert kept_inputs(target)


def test_every_framing_is_known_by_its_name() -> None:
    text = (SOURCES / "framing.rs").read_text(encoding="utf-8")
    assert tuple(re.findall(r'Self::\w+ => "([a-z0-9]+)",', text)) == FRAMINGS


def test_a_corpus_is_kept_and_found_again(tmp_path: Path) -> None:
    inputs = [b"", b"b", b"a", bytes(300), b"b"]
    assert keep_inputs("chain", inputs, tmp_path) == 4
    assert kept_inputs("chain", tmp_path) == [b"", b"a", b"b", bytes(300)]
    assert kept_inputs("header", tmp_path) == []


def test_a_corpus_stays_small(tmp_path: Path) -> None:
    noise = [bytes((n * n * k >> 3) & 255 for k in range(n)) for n in range(400, 1400)]
    count = keep_inputs("chain", noise, tmp_path)
    assert 0 < count < len(noise)
    assert (tmp_path / "chain.gz").stat().st_size <= KEPT_BYTES
    assert kept_inputs("chain", tmp_path) == noise[:count]


def test_a_missing_compiler_is_named(tmp_path: Path) -> None:
    with pytest.raises(FuzzError, match=r"c\+\+ or g\+\+ or clang\+\+ is not there: install g\+\+"):
        compiler_environment({"PATH": str(tmp_path)})
    with pytest.raises(FuzzError, match="my-compiler -O2, which CXX names, is not there"):
        compiler_environment({"PATH": str(tmp_path), "CXX": "my-compiler -O2"})
    compiler = tmp_path / "clang++"
    compiler.touch(mode=0o755)
    assert compiler_environment({"PATH": str(tmp_path)})["CXX"] == "clang++"
