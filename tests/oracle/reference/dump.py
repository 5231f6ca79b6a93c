"""Prints the partition updates of segments, one line of JSON each.

    python -m tests.oracle.reference.dump --schema schema.cql SEGMENT[.gz]...

Segments are printed in the order of their ids. What was passed over is counted on the error
stream; a damaged segment ends the output with one sentence and exit code 1.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.oracle.reference.cql_text import SchemaTextError
from tests.oracle.reference.descriptor import SEGMENT_NAME
from tests.oracle.reference.errors import SegmentError
from tests.oracle.reference.line import to_line
from tests.oracle.reference.schema_text import parse_schema
from tests.oracle.reference.segment import read_segment


def in_order(paths: Iterable[Path]) -> list[tuple[Path, str]]:
    """Segment files and their names without `.gz`, by numeric id."""
    named = [(path, path.name.removesuffix(".gz")) for path in paths]

    def segment_id(entry: tuple[Path, str]) -> int:
        match = SEGMENT_NAME.fullmatch(entry[1])
        return int(match[2]) if match else -1

    return sorted(named, key=segment_id)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit code."""
    parser = argparse.ArgumentParser(description="Prints commit-log segments as NDJSON.")
    parser.add_argument("--schema", type=Path, required=True, help="CQL text with table ids")
    parser.add_argument("segments", type=Path, nargs="+", metavar="SEGMENT[.gz]")
    options = parser.parse_args(arguments)
    skipped: Counter[str] = Counter()
    try:
        schema = parse_schema(options.schema.read_text(encoding="utf-8"))
        for path, name in in_order(options.segments):
            for update in read_segment(path, name, schema, skipped):
                print(json.dumps(to_line(update), ensure_ascii=False, separators=(",", ":")))
    except (SegmentError, SchemaTextError, OSError) as error:
        print(f"dump: {error}", file=sys.stderr)
        return 1
    finally:
        for reason, count in sorted(skipped.items()):
            print(f"passed over, {reason}: {count} records", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
