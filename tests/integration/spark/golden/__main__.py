"""`make test-cluster`: the golden test in its large form.

Prints each step, a summary and all differences. With differences, it exits with code 1 and does
not delete its files. `--seed N` repeats the same writes.
"""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import click

from tests.integration.spark.golden.cluster_harness import ClusterHarness
from tests.integration.spark.golden.proof import Report, prove
from tests.integration.spark.golden.workload import LARGE, SMALL
from tests.support.servers.errors import HarnessError
from tests.support.spark.session import fetched_jars, local_session, quiet_java_options

_MAX_SHOWN = 20
_UPGRADE_TO = "6.0-alpha2"


@click.command()
@click.option("--seed", type=int, help="Seed of all writes; default: drawn and printed.")
@click.option("--statements", type=int, help="Random statements, beside the recorded workloads.")
@click.option("--small", is_flag=True, help="Do not write the recorded workloads.")
@click.option("--upgrade", is_flag=True, help="Upgrade the cluster to 6.0 during the writes.")
@click.option("--directory", type=click.Path(path_type=Path), help="Default: a temporary one.")
def main(
    seed: int | None, statements: int | None, small: bool, upgrade: bool, directory: Path | None
) -> None:
    """Run three replicas, three agents, a broker and Spark, and compare events and tables."""
    seed = secrets.randbits(32) if seed is None else seed
    form = SMALL if small else LARGE
    form = replace(form, statements=statements or form.statements, has_moments=True)
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        directory = directory.resolve()
    folder = Path(tempfile.mkdtemp(prefix="golden-", dir=directory))
    print(f"Seed {seed}, {form.statements} statements; files are in {folder}.")
    mode, to = ("NONE", _UPGRADE_TO) if upgrade else ("CASSANDRA_4", None)
    options = quiet_java_options(folder)
    spark = local_session(fetched_jars(), options, folder / "warehouse", memory="2g")
    try:
        with ClusterHarness(
            folder, Random(seed), segment_mib=form.segment_mib, storage_mode=mode
        ) as cluster:
            report = prove(cluster, spark, seed, form, print, to)
    except HarnessError as error:
        raise SystemExit(f"Failed: {error}\nThe files are in {folder}.") from error
    finally:
        spark.stop()
    print("\n".join([*summary(report), *report.problems[:_MAX_SHOWN]]))
    if report.problems:
        raise SystemExit(f"{len(report.problems)} problems; the files are in {folder}.")
    shutil.rmtree(folder)


def summary(report: Report) -> Iterator[str]:
    """Statistics of a run, one per line."""
    for name, figure in (*report.figures.items(), *report.unanswered.items()):
        yield f"{figure:12,}  {name}"
    for logs, count in sorted(report.in_logs.items()):
        yield f"{count:12,}  events in {logs} logs"
    for step, seconds in report.seconds.items():
        yield f"{seconds:10,.0f} s  {step}"


if __name__ == "__main__":
    main()
