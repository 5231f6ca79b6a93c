"""Run benchmarks: `python -m benches [name …] [--quick]`, all of them without a name."""

import argparse
from importlib import import_module

NAMES = (
    "parser",
    "agent",
    "latency",
    "memory",
    "decode",
    "mongo",
    "dedupe",
    "state",
    "reconcile",
    "mongo_debezium",
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
        "--quick", action="store_true", help="small inputs: shows that it runs, measures little"
    )
    given = arguments.parse_args()
    unknown = [name for name in given.names if name not in NAMES]
    if unknown:
        arguments.error(f"no benchmark {unknown[0]!r}; there are {', '.join(NAMES)}")
    for name in given.names or NAMES:
        import_module(f"benches.{name}").run(given.quick)


main()
