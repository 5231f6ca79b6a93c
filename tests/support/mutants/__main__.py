"""Draws mutants, measures which tests run which line, and tries the mutants."""

import signal
import subprocess
import sys
from pathlib import Path

import click

from tests.support.mutants import draw as drawing
from tests.support.mutants.caught import CAUGHT, Results, chosen
from tests.support.mutants.extension import kept_extension, store_extension
from tests.support.mutants.modules import MODULES, REPOSITORY
from tests.support.mutants.mutant import DRAWN, PlaceGoneError, drawn, store
from tests.support.mutants.reach import Reach, measure
from tests.support.mutants.trial import Trial

_TIERS = {"own": "a", "other": "bc", "fast": "abc", "servers": "d", "all": "abcd"}


@click.group(help=__doc__)
def main() -> None:
    # So that a stopped run puts back what it has changed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(1))


@main.command()
@click.option("--seed", type=int, required=True)
def draw(seed: int) -> None:
    """Draw ten mutants of each module into drawn.json."""
    click.echo(f"seed {seed}")
    git = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    mutants = list(drawing.draw(seed, click.echo))
    store(mutants, seed, git.stdout.strip())
    click.echo(f"{len(mutants)} mutants are in {DRAWN}")


@main.command()
@click.option("--output", type=click.Path(path_type=Path), required=True)
@click.argument("arguments", nargs=-1)
def reach(output: Path, arguments: tuple[str, ...]) -> None:
    """Run the tests without servers; ARGUMENTS are for pytest. Keep OUTPUT outside of the
    repository."""
    raise SystemExit(measure(output.resolve(), arguments))


@main.command()
@click.option("--output", type=click.Path(path_type=Path), required=True)
def build(output: Path) -> None:
    """Build the extensions of all Rust mutants into OUTPUT, for `run --extensions`.

    Beside trials of Python it saves time; a build in vain costs less than waiting for one.
    """
    for mutant in drawn():
        if MODULES[mutant.module].is_rust:
            try:
                with mutant.applied():
                    store_extension(output.resolve(), mutant.id)
            except PlaceGoneError as error:
                click.echo(str(error))


@main.command()
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Results, as JSON.")
@click.option("--reach", "folder", type=click.Path(path_type=Path), help="Output of `reach`.")
@click.option("--extensions", type=click.Path(path_type=Path), help="Output of `build`.")
@click.option("--module", type=click.Choice(list(MODULES)))
@click.option("--only", multiple=True, metavar="ID")
@click.option("--tests", type=click.Choice(list(_TIERS)), default="fast", show_default=True)
def run(
    output: Path,
    folder: Path | None,
    extensions: Path | None,
    module: str | None,
    only: tuple[str, ...],
    tests: str,
) -> None:
    """Try mutants that OUTPUT does not have yet; exit with 1 where a catch is lost.

    `--tests` chooses tiers (see `trial`): own a, other b and c, fast a to c, servers d. A catch is
    lost where `caught.json` has it and no test catches the mutant now.
    """
    results, before = Results(output), Results(CAUGHT)
    reached = None if folder is None else Reach(folder.resolve())
    trial = Trial(reached, extensions, tiers=_TIERS[tests])
    with kept_extension():
        for mutant in chosen(drawn(), module, only):
            if mutant.id in results and mutant.id not in only:
                continue
            if results.keep_equivalent(mutant.id, before):
                continue
            try:
                outcome = trial.of(mutant)
            except PlaceGoneError as error:
                results.add_gone(mutant.id, str(error))
                click.echo(str(error))
                continue
            results.add(mutant.id, outcome)
            click.echo(f"{mutant.id} {outcome.seconds} s: {outcome.test or 'survived'}")
    click.echo("\n".join(results.table()))
    lost = results.lost(before)
    if lost:
        click.echo(f"caught before, not now: {', '.join(lost)}")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
