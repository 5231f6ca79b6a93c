"""libFuzzer over the functions of `commitlog/fuzz`, guided by coverage.

The stable compiler instruments by itself (`-Cpasses=sancov-module`), and libFuzzer comes with the
crate `libfuzzer-sys`, so nothing is needed beside Rust and a C++ compiler.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.fuzz.corpus import found_inputs, keep_inputs, kept_inputs
from tests.support.fuzz.seeds import seeds
from tests.support.servers.cache import REPOSITORY

CRATE = REPOSITORY / "commitlog" / "fuzz" / "libfuzzer"
FAILURES = REPOSITORY / "fuzz-failures"
"""Where inputs that fail are put."""
_INSTRUMENTATION = (
    *("--cfg", "fuzzing", "-Cpasses=sancov-module", "-Ccodegen-units=1"),
    *(
        f"-Cllvm-args=-sanitizer-coverage-{option}"
        for option in ("level=4", "inline-8bit-counters", "pc-table", "trace-compares")
    ),
)
_LIMITS = ("-max_len=8192", "-rss_limit_mb=256", "-timeout=10")
_COMPILERS = ("c++", "g++", "clang++")
_POLL_S = 0.5
_STATUS = re.compile(r"^#(\d+)\s.*?cov: (\d+).*? corp: (\d+)", re.MULTILINE)


class FuzzError(Exception):
    """The targets cannot be built. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Status:
    """Executions so far, edges of the code that were reached, and inputs that reached them."""

    executions: int
    edges: int
    inputs: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """A target that has run. `failure` is the last that the fuzzer said, or empty."""

    status: Status
    seconds: float
    peak_mib: int
    kept: int | None
    failure: str


def compiler_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with a C++ compiler in CXX. Raises FuzzError where there is none."""
    named = environment.get("CXX")
    for compiler in (named,) if named else _COMPILERS:
        if shutil.which(compiler.split()[0], path=environment.get("PATH")):
            return {**environment, "CXX": compiler}
    missing = f"{named}, which CXX names," if named else " or ".join(_COMPILERS)
    raise FuzzError(
        f"libFuzzer is built from C++, and {missing} is not there: install g++ or clang, or name "
        "a compiler in CXX."
    )


def build() -> Path:
    """Builds all targets; returns the folder of the programs. Raises FuzzError."""
    environment = compiler_environment(os.environ)
    try:
        version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise FuzzError(f"rustc does not run: {error}") from error
    host = re.search(r"host: (\S+)", version.stdout)
    if host is None:
        raise FuzzError("rustc -vV does not name its host.")
    folder = REPOSITORY / "target" / "fuzz"
    # With --target, build scripts and procedural macros are left without instrumentation.
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--target", host[1]]
    environment |= {"RUSTFLAGS": " ".join(_INSTRUMENTATION), "CARGO_TARGET_DIR": str(folder)}
    if subprocess.run(command, cwd=CRATE, env=environment, check=False).returncode:
        raise FuzzError("The fuzz targets cannot be built; cargo says above why.")
    return folder / host[1] / "release"


def run_input(program: Path, file: Path) -> str:
    """Runs one input; returns the fuzzer's report of a failure, or an empty text."""
    done = subprocess.run([program, file], capture_output=True, check=False)
    return done.stderr.decode(errors="replace") if done.returncode else ""


def fuzz(
    program: Path,
    target: str,
    *,
    seconds: int,
    keep: bool,
    show: Callable[[float, Status], None],
) -> Outcome:
    """Runs a target from the kept corpus and the seeds on. `show` is told now and then how far it
    is; `keep` keeps what covers most as the corpus."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        corpus = Path(scratch) / "corpus"
        corpus.mkdir()
        first = (*found_inputs(target), *kept_inputs(target), *seeds(target))
        for number, data in enumerate(first):
            (corpus / f"seed-{number:05}").write_bytes(data)
        FAILURES.mkdir(exist_ok=True)
        command = [str(program), f"-max_total_time={seconds}", "-print_final_stats=1", *_LIMITS]
        command += [f"-artifact_prefix={FAILURES}/{target}-", str(corpus)]
        start_s = time.monotonic()
        log = Path(scratch) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
            try:
                while (code := _waited(process)) is None:
                    show(time.monotonic() - start_s, _status(log))
            finally:
                process.kill()
                process.wait()
        seconds_run = time.monotonic() - start_s
        text = log.read_text(errors="replace")
        kept = _kept(program, target, corpus) if keep and code == 0 else None
        peak = re.search(r"stat::peak_rss_mb:\s+(\d+)", text)
        status = _status(log)
        executed = re.search(r"stat::number_of_executed_units: (\d+)", text)
        if executed:
            status = Status(int(executed[1]), status.edges, status.inputs)
        failure = "" if code == 0 else text[-4000:]
        return Outcome(status, seconds_run, int(peak[1]) if peak else 0, kept, failure)


def _waited(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(_POLL_S)
    except subprocess.TimeoutExpired:
        return None


def _status(log: Path) -> Status:
    """By the last line of the log that tells it."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - (64 << 10)))
        found = _STATUS.findall(file.read().decode(errors="replace"))
    return Status(*map(int, found[-1])) if found else Status(0, 0, 0)


def _kept(program: Path, target: str, corpus: Path) -> int:
    """Minimises a grown corpus and keeps it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as smaller:
        command = [str(program), "-merge=1", *_LIMITS, smaller, str(corpus)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode:
            raise FuzzError(f"{target}: merging failed: {done.stderr.decode(errors='replace')}")
        return keep_inputs(target, (path.read_bytes() for path in Path(smaller).iterdir()))
