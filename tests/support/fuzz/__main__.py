"""`make fuzz`: the guided targets, ten minutes each, and every bit of a segment.

libFuzzer drives the functions of `fuzz`, guided by coverage, from the kept corpus on. The
stable compiler instruments by itself (`-Cpasses=sancov-module`), and libFuzzer comes with the crate
`libfuzzer-sys`, so nothing is needed beside Rust and a C++ compiler. The program `every_bit` flips
each bit of a segment in each framing. Exit code 1 when something failed. An input that fails a
guided target is put into `fuzz-failures/`; `--target T --input FILE` runs it again.
"""

import gzip
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

import click

from tests.support.servers.cache import REPOSITORY

CRATE = REPOSITORY / "fuzz"
CORPUS = CRATE / "corpus"
"""A file for each target: each input after its length in four bytes, gzipped together. `cargo test`
replays them, and the inputs in `found`, which once failed."""
GUIDED = tuple(sorted(path.name.removesuffix(".gz") for path in CORPUS.iterdir()))
EVERY_BIT = "every-bit"
FRAMINGS = ("plain", "lz4", "snappy", "deflate", "zstd", "noop", "cbc", "ctr")
FAILURES = REPOSITORY / "fuzz-failures"
KEPT_BYTES = 128 << 10
"""Most that is kept of a target, packed."""
_COVERAGE = ("level=4", "inline-8bit-counters", "pc-table", "trace-compares")
_INSTRUMENTATION = (
    *("--cfg", "fuzzing", "-Cpasses=sancov-module", "-Ccodegen-units=1"),
    *(f"-Cllvm-args=-sanitizer-coverage-{option}" for option in _COVERAGE),
)
_LIMITS = ("-max_len=8192", "-rss_limit_mb=256", "-timeout=10")
_STATUS = re.compile(r"^#(\d+)\s.*?cov: (\d+).*? corp: (\d+)", re.MULTILINE)
_DONE = re.compile(r"\S+ done (\d+) of (\d+)")


@click.command()
@click.option("--minutes", default=10.0, help="For each target.")
@click.option(
    "--target",
    "names",
    multiple=True,
    type=click.Choice([*GUIDED, EVERY_BIT]),
    help="Several times; by default all guided ones and every-bit.",
)
@click.option("--keep", is_flag=True, help="Keep what covers most as the corpus (guided).")
@click.option(
    "--input", "file", type=click.Path(exists=True, path_type=Path), help="Run one (guided)."
)
def main(minutes: float, names: tuple[str, ...], keep: bool, file: Path | None) -> None:
    """Feed the parser what no node wrote."""
    chosen = names or (*GUIDED, EVERY_BIT)
    if file is not None and (len(names) != 1 or names[0] not in GUIDED):
        raise click.UsageError("--input needs one --target, which is a guided one.")
    programs = build_guided() if any(name in GUIDED for name in chosen) else Path()
    if file is not None:
        raise SystemExit(subprocess.run([programs / names[0], file], check=False).returncode)
    failed = [
        name
        for name in chosen
        if not (
            all(map(flip_every_bit, FRAMINGS))
            if name == EVERY_BIT
            else fuzz(programs / name, int(minutes * 60), keep=keep)
        )
    ]
    if failed:
        raise click.ClickException(f"failed: {', '.join(failed)}")


def build_guided() -> Path:
    """Builds all targets; returns the folder of the programs."""
    compiler = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), "c++")
    if not shutil.which(compiler.split()[0]):
        raise click.ClickException(
            f"libFuzzer is built from C++, and {compiler} is not there: install g++ or clang, or "
            "name a compiler in CXX."
        )
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True)
    host = version.stdout.partition("host: ")[2].split()[0]
    folder = REPOSITORY / "target" / "fuzz"
    environment = {**os.environ, "CXX": compiler, "CARGO_TARGET_DIR": str(folder)}
    environment["RUSTFLAGS"] = " ".join(_INSTRUMENTATION)
    # With --target, build scripts and procedural macros are left without instrumentation.
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--target", host]
    done = subprocess.run(command, cwd=CRATE / "libfuzzer", env=environment, check=False)
    if done.returncode:
        raise click.ClickException("The fuzz targets cannot be built; cargo says above why.")
    return folder / host / "release"


def fuzz(program: Path, seconds: int, *, keep: bool) -> bool:
    """Runs a target from the kept corpus on; returns whether no input failed. `keep` keeps what
    covers most as the corpus."""
    target = program.name
    FAILURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        corpus, smaller = Path(scratch) / "corpus", Path(scratch) / "smaller"
        corpus.mkdir()
        found = [path.read_bytes() for path in sorted((CRATE / "found").glob(f"{target}-*"))]
        for number, data in enumerate((*found, *kept_inputs(target))):
            (corpus / f"seed-{number:05}").write_bytes(data)
        command = [str(program), f"-max_total_time={seconds}", "-print_final_stats=1", *_LIMITS]
        command += [f"-artifact_prefix={FAILURES}/{target}-", str(corpus)]
        done = subprocess.run(command, capture_output=True, check=False)
        text = done.stderr.decode(errors="replace")
        executions, edges, inputs = [("0", "0", "0"), *_STATUS.findall(text)][-1]
        peak = re.search(r"stat::peak_rss_mb:\s+(\d+)", text)
        click.echo(
            f"{target}: {executions} executions, {edges} edges, {inputs} inputs, "
            f"{peak[1] if peak else '?'} MiB"
        )
        if done.returncode:
            click.echo(
                f"{target} failed:\n{text[-4000:]}\nThe input is in {FAILURES}; again: "
                f'make fuzz ARGS="--target {target} --input FILE"'
            )
        elif keep:
            smaller.mkdir()
            merge = [str(program), "-merge=1", *_LIMITS, str(smaller), str(corpus)]
            subprocess.run(merge, capture_output=True, check=True)
            keep_inputs(target, (path.read_bytes() for path in smaller.iterdir()))
        return not done.returncode


def kept_inputs(target: str) -> list[bytes]:
    """The corpus of a target."""
    data = gzip.decompress((CORPUS / f"{target}.gz").read_bytes())
    found = []
    at = 0
    while at < len(data):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        found.append(data[at + 4 : end])
        at = end
    return found


def keep_inputs(target: str, inputs: Iterable[bytes]) -> None:
    """Writes the smallest inputs first, as many as fit."""
    ordered = sorted(set(inputs), key=lambda data: (len(data), data))
    while True:
        joined = b"".join(len(data).to_bytes(4, "big") + data for data in ordered)
        packed = gzip.compress(joined, 9, mtime=0)
        if len(packed) <= KEPT_BYTES:
            break
        ordered = ordered[: len(ordered) * 19 // 20]
    (CORPUS / f"{target}.gz").write_bytes(packed)


def flip_every_bit(framing: str) -> bool:
    """Flips all bits of a framing's segment (`every_bit.rs`); returns whether none failed."""
    command = ["cargo", "run", "--quiet", "--release", "--locked"]
    command += ["--package", "commitlog-fuzz", "--bin", "every_bit", framing]
    done = subprocess.run(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, check=False)
    *_, last = done.stdout.splitlines() or [f"{framing} ended with exit code {done.returncode}"]
    failures = [line for line in done.stdout.splitlines() if not _DONE.fullmatch(line)]
    click.echo("\n".join([*failures[:10], f"{EVERY_BIT}: {last}, {len(failures)} failed"]))
    return not done.returncode


if __name__ == "__main__":
    main()
