"""`make fixtures`: see the package. `--only 5.0/types` records one, `--only 5.0/` a release."""

import tempfile
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.support.record.plan import RUNS
from tests.support.servers.cache import cache_directory


@click.command()
@click.option("--only", multiple=True, help="Recordings whose names start with this.")
@click.option("--list", "is_list", is_flag=True, help="Print the names and stop.")
def main(only: tuple[str, ...], is_list: bool) -> None:
    """Record segments, Cassandra's answers and Debezium's events anew."""
    chosen = [
        (run, [name for name in run.names if not only or name.startswith(only)]) for run in RUNS
    ]
    total = sum(len(names) for _, names in chosen)
    if not total:
        raise click.UsageError("No recording has such a name; --list prints them.")
    if is_list:
        click.echo("\n".join(name for _, names in chosen for name in names))
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console()) as progress:
        task = progress.add_task("recording", total=total)

        def done(name: str, sentence: str) -> None:
            progress.console.print(f"{name}: {sentence}", highlight=False)
            progress.advance(task)

        for run, names in chosen:
            if names:
                progress.update(task, description=names[0])
                # In the cache folder, since the temporary one may be in memory.
                with tempfile.TemporaryDirectory(
                    prefix="record-", dir=cache_directory()
                ) as scratch:
                    run.record(names, Path(scratch), done)


if __name__ == "__main__":
    main()
