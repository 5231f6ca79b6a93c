"""Draws mutants, measures which tests run which line, and tries the mutants."""

import json
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from tests.support.mutants import draw as drawing
from tests.support.mutants.extension import kept_extension, store_extension
from tests.support.mutants.modules import MODULES, REPOSITORY
from tests.support.mutants.mutant import DRAWN, PlaceGoneError, drawn
from tests.support.mutants.reach import Reach, measure
from tests.support.mutants.trial import Trial

_CAUGHT = Path(__file__).with_name("caught.json")
_TIERS = {"own": "a", "other": "bc", "fast": "abc", "servers": "d", "all": "abcd"}
_FILE = click.Path(path_type=Path)


@click.group(help=__doc__)
def main() -> None:
    # So that a stopped run puts back what it has changed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    signal.signal(signal.SIGINT, lambda *_: sys.exit(1))


@main.command()
@click.option("--seed", type=int, required=True)
def draw(seed: int) -> None:
    """Draw ten mutants of each module into drawn.json."""
    command = ["git", "rev-parse", "HEAD"]
    git = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    mutants = [asdict(mutant) for mutant in drawing.draw(seed, click.echo)]
    _store(DRAWN, {"seed": seed, "commit": git.stdout.strip(), "mutants": mutants})


@main.command()
@click.option("--output", type=_FILE, required=True)
@click.argument("arguments", nargs=-1)
def reach(output: Path, arguments: tuple[str, ...]) -> None:
    """Run the tests without servers; ARGUMENTS are for pytest. Keep OUTPUT outside of the
    repository."""
    raise SystemExit(measure(output.resolve(), arguments))


@main.command()
@click.option("--output", type=_FILE, required=True)
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
@click.option("--output", type=_FILE, required=True, help="Results, as JSON.")
@click.option("--reach", "folder", type=_FILE, help="Output of `reach`.")
@click.option("--extensions", type=_FILE, help="Output of `build`.")
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
    before: dict[str, Any] = json.loads(_CAUGHT.read_text())
    results: dict[str, Any] = json.loads(output.read_text()) if output.exists() else {}
    reached = None if folder is None else Reach(folder.resolve())
    trial = Trial(reached, extensions, tiers=_TIERS[tests])
    with kept_extension():
        for mutant in drawn():
            name = mutant.id
            if module not in (None, mutant.module) or (
                name not in only if only else name in results
            ):
                continue
            if before.get(name, {}).get("caught") == "equivalent":
                results[name] = before[name]
                continue
            try:
                result = trial.of(mutant)
            except PlaceGoneError as error:
                # The code has changed, and another mutant is needed.
                result = {"caught": "gone", "reason": str(error)}
            else:
                tried = {*results.get(name, {}).get("tried", ""), *result["tried"]}
                result["tried"] = "".join(sorted(tried))
            results[name] = result
            # After each one, so that a stopped run goes on.
            _store(output, dict(sorted(results.items())))
            click.echo(f"{name}: {result.get('test') or result.get('reason') or 'survived'}")
    counts = Counter((name.rpartition("-")[0], str(one["caught"])) for name, one in results.items())
    for (name, caught), count in sorted(counts.items()):
        click.echo(f"{name:<14} caught: {caught:<11} {count:>3}")
    lost = [
        name
        for name, result in results.items()
        if result["caught"] is False and before.get(name, {}).get("caught") is True
    ]
    if lost:
        click.echo(f"caught before, not now: {', '.join(lost)}")
        raise SystemExit(1)


def _store(path: Path, content: object) -> None:
    text = json.dumps(content, indent=1, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
