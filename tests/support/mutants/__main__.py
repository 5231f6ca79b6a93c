"""Draws mutants, measures which tests run which line, and tries the mutants."""

import subprocess
from pathlib import Path

import click

from tests.support.mutants import draw as drawing
from tests.support.mutants.caught import CAUGHT, Results, chosen
from tests.support.mutants.extension import kept_extension
from tests.support.mutants.modules import MODULES, REPOSITORY
from tests.support.mutants.mutant import DRAWN, PlaceGoneError, drawn, store
from tests.support.mutants.reach import Reach, measure
from tests.support.mutants.trial import Trial


@click.group(help=__doc__)
def main() -> None:
    pass


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
@click.option("--output", type=click.Path(path_type=Path), required=True, help="Results, as JSON.")
@click.option("--reach", "folder", type=click.Path(path_type=Path), help="Output of `reach`.")
@click.option("--module", type=click.Choice(list(MODULES)))
@click.option("--only", multiple=True, metavar="ID")
@click.option("--tests", type=click.Choice(["fast", "all"]), default="fast", show_default=True)
def run(
    output: Path, folder: Path | None, module: str | None, only: tuple[str, ...], tests: str
) -> None:
    """Try mutants that OUTPUT does not have yet; exit with 1 where a catch is lost.

    `--tests all` includes tests with servers. The output also says which mutants `caught.json`
    has as caught and no test catches now.
    """
    results = Results(output)
    trial = Trial(
        None if folder is None else Reach(folder.resolve()), may_use_servers=tests == "all"
    )
    with kept_extension():
        for mutant in chosen(drawn(), module, only):
            if mutant.id in results and mutant.id not in only:
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
    lost = results.lost(Results(CAUGHT))
    if lost:
        click.echo(f"caught before, not now: {', '.join(lost)}")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
