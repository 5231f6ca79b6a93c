"""`make test-cluster`: the golden test in its large form.

Prints each step, a summary and all differences. With differences, it exits with code 1 and does
not delete its files. `--seed N` repeats the same writes.
"""

import secrets
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random

import click
from rich.console import Console
from rich.table import Table

from tests.integration.spark.golden.cluster_harness import ClusterHarness
from tests.integration.spark.golden.proof import Report, prove
from tests.integration.spark.golden.workload import LARGE, SMALL
from tests.support.servers.errors import HarnessError
from tests.support.spark.session import fetched_jars, local_session, quiet_java_options

_MAX_SHOWN = 20
_UPGRADE_TO = "6.0-alpha2"


@click.command()
@click.option("--seed", type=int, help="Seed of all writes; default: drawn and printed.")
@click.option(
    "--statements",
    type=int,
    help="Number of random statements, in addition to the recorded workloads.",
)
@click.option("--small", is_flag=True, help="Do not write the recorded workloads.")
@click.option("--upgrade", is_flag=True, help="Upgrade the cluster to 6.0 during the writes.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Working directory, which is created if needed; default: a temporary folder.",
)
def main(
    seed: int | None,
    statements: int | None,
    small: bool,
    upgrade: bool,
    directory: Path | None,
) -> None:
    """Run three replicas, three agents, a broker and Spark, and compare events and tables."""
    seed = secrets.randbits(32) if seed is None else seed
    form = SMALL if small else LARGE
    form = replace(form, statements=statements or form.statements, has_moments=True)
    folder = working_folder(directory)
    console = Console(highlight=False)
    console.print(
        f"Seed {seed}, {form.statements} statements; files are in {folder}.",
        soft_wrap=True,
    )
    options = quiet_java_options(folder)
    spark = local_session(fetched_jars(), options, folder / "warehouse", memory="2g")
    try:
        with ClusterHarness(
            folder,
            Random(seed),
            segment_mib=form.segment_mib,
            storage_mode="NONE" if upgrade else "CASSANDRA_4",
        ) as cluster:
            to = _UPGRADE_TO if upgrade else None
            report = prove(cluster, spark, seed, form, console.print, to)
    except HarnessError as error:
        console.print(f"Failed: {error}\nThe files are in {folder}.", markup=False)
        raise SystemExit(1) from error
    finally:
        spark.stop()
    console.print(summary(report))
    for line in report.problems[:_MAX_SHOWN]:
        console.print(line, markup=False, soft_wrap=True)
    if report.problems:
        console.print(f"{len(report.problems)} problems; the files are in {folder}.")
        raise SystemExit(1)
    shutil.rmtree(folder)


def working_folder(directory: Path | None) -> Path:
    """A new folder for a run in this one, which is created if needed."""
    if directory is not None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.BadParameter(
                f"cannot create it: {error}.", param_hint="--directory"
            ) from error
        directory = directory.resolve()
    return Path(tempfile.mkdtemp(prefix="golden-", dir=directory))


def summary(report: Report) -> Table:
    """The statistics of a run."""
    table = Table(title=f"golden test, seed {report.seed}", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    in_logs = ", ".join(f"{count:,} in {logs}" for logs, count in sorted(report.in_logs.items()))
    for name, figure in report.figures.items():
        table.add_row(name, f"{figure:,}")
    for error, count in report.unanswered.items():
        table.add_row(error, f"{count:,}")
    table.add_row("events by the number of logs that have them", in_logs)
    table.add_section()
    for step, seconds in report.seconds.items():
        table.add_row(step, f"{seconds:,.0f} s")
    return table


if __name__ == "__main__":
    main()
