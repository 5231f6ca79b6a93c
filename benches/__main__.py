"""Run benchmarks: `python -m benches [name …] [--quick]`; without names, run all."""

import argparse
from importlib import import_module

from benches.harness import machine, write_result

NAMES = (
    "parser",
    "agent",
    "latency",
    "node_cost",
    "memory",
    "decode",
    "mongo",
    "dedupe",
    "state",
    "merge",
    "reconcile",
    "tables",
    "changes",
    "compare",
    "mongo_agent",
    "transfer",
    "transform",
    "snapshot",
    "avro",
)


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m benches", description=__doc__)
    arguments.add_argument("names", nargs="*", metavar="name", help=f"any of {', '.join(NAMES)}")
    arguments.add_argument(
        "--quick", action="store_true", help="small inputs: only verifies that the benchmark runs"
    )
    given = arguments.parse_args()
    unknown = [name for name in given.names if name not in NAMES]
    if unknown:
        arguments.error(f"unknown benchmark {unknown[0]!r}; use any of {', '.join(NAMES)}")
    for name in given.names or NAMES:
        at_start = machine()
        print(at_start.sentence())
        result = import_module(f"benches.{name}").run(given.quick)
        print(write_result(name, at_start, given.quick, result))


main()
