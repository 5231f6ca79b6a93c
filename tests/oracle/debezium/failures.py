"""Log messages of the peer about the cases on which it fails."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from tests.oracle.debezium.cases import CASES
from tests.oracle.debezium.recording import Position

_SEGMENT = re.compile(r"log=\S*CommitLog-\d+-(\d+)\.log")
_RECORD = re.compile(r"Failed to send record .*file=CommitLog-\d+-(\d+)\.log,.* pos=(\d+)")
_CAUSE = re.compile(r"Caused by: ([\w.$]+(?:Exception|Error): .*)")
_VECTOR = re.compile(r".*(Unexpected error while refreshing schema.*type name vector.*)")
_LONGEST = 300


def failures(log_file: Path, directory: Path, starts: Sequence[Position]) -> dict[int, list[str]]:
    """The causes by case number, with `$DIRECTORY` for the node's folder. An error in a segment
    belongs to the last case that begins in it, an error in a record to the case of its position,
    and a type that the peer's driver cannot parse to the case of that name."""
    found: dict[int, list[str]] = {}
    lines = log_file.read_text(errors="replace").replace(str(directory), "$DIRECTORY").splitlines()
    case: int | None = None
    for line in lines:
        if vector := _VECTOR.match(line):
            _note(found, _number("vector"), vector[1])
        elif record := _RECORD.search(line):
            case = bisect_right(starts, (int(record[1]), int(record[2]))) - 1
        elif "errored out" in line and (segment := _SEGMENT.search(line)):
            inside = [at for at, (number, _) in enumerate(starts) if number == int(segment[1])]
            case = inside[-1] if inside else None
        elif case is not None and (cause := _CAUSE.match(line)):
            _note(found, case, cause[1])
        elif line.startswith(("INFO", "WARN", "ERROR")):
            case = None
    return found


def _note(found: dict[int, list[str]], case: int, line: str) -> None:
    short = line if len(line) <= _LONGEST else f"{line[:_LONGEST]} …"
    log = found.setdefault(case, [])
    if short not in log:
        log.append(short)


def _number(name: str) -> int:
    return next(at for at, case in enumerate(CASES) if case.name == name)
