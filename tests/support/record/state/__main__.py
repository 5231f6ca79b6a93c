"""`python -m tests.support.record.state --programs DIR`: see the package."""

import subprocess
import tempfile
from pathlib import Path

import click

from tests.support.record.state.cassandra import record_cassandra
from tests.support.record.state.mongodb import record_mongodb
from tests.support.servers.cache import cache_directory

TARGET = Path(__file__).parents[3] / "fixtures" / "state"


@click.command()
@click.option(
    "--programs",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    required=True,
    help="Directory with the release's `agent` and `mongo-agent`.",
)
@click.option("--version", help="Its version; default: that of the programs.")
def main(programs: Path, version: str | None) -> None:
    """Record the state files of an installed release."""
    if version is None:
        done = subprocess.run([programs / "agent", "--version"], capture_output=True, check=True)
        version = done.stdout.decode().split()[-1]
    with tempfile.TemporaryDirectory(prefix="state-", dir=cache_directory()) as scratch:
        record_cassandra(programs / "agent", version, TARGET / version / "cassandra", Path(scratch))
        record_mongodb(programs / "mongo-agent", TARGET / version / "mongodb", Path(scratch))
    click.echo(f"{TARGET / version}")


if __name__ == "__main__":
    main()
