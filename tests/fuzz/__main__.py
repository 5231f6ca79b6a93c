"""`make fuzz`: damaged input of every kind for a number of minutes a target.

A failure prints target, recording and seed; `--seed N --runs 1 --target T` runs it again.
"""

import random
import tempfile
import time
from pathlib import Path

import click
from rich.progress import Progress

from .every_bit import SPECIMENS, check, every_bit, specimen
from .targets import TARGETS, seeds

EVERY_BIT = "every-bit"


@click.command()
@click.option("--minutes", default=10.0, help="For each target.")
@click.option("--runs", type=int, help="This many runs a target, whatever the time.")
@click.option("--seed", type=int, help="First seed; by the clock if not given.")
@click.option("--target", "names", multiple=True, type=click.Choice([*sorted(TARGETS), EVERY_BIT]))
def main(minutes: float, runs: int | None, seed: int | None, names: tuple[str, ...]) -> None:
    """Feed damaged segments, payloads and schemas to the parser."""
    first = seed if seed is not None else time.time_ns() % 1_000_000_000
    recordings = seeds()
    click.echo(f"{len(recordings)} recordings, first seed {first}")
    if not names or EVERY_BIT in names:
        flip_every_bit()
    for name in (name for name in names or TARGETS if name != EVERY_BIT):
        budget_s = 0.0 if runs else minutes * 60
        start_s = time.monotonic()
        done = 0
        with tempfile.TemporaryDirectory() as folder, Progress(transient=True) as progress:
            task = progress.add_task(name, total=runs or budget_s)
            while done < runs if runs else time.monotonic() - start_s < budget_s:
                number = first + done
                rng = random.Random(number)
                recording = rng.choice(recordings)
                try:
                    TARGETS[name](recording, rng, Path(folder))
                except BaseException:
                    click.echo(f"{name}: seed {number}, {recording.label}", err=True)
                    raise
                done += 1
                reached = done if runs else time.monotonic() - start_s
                progress.update(task, completed=reached)
        click.echo(f"{name}: {done} runs, none failed")


def flip_every_bit() -> None:
    """Each bit of a segment of 64 KiB, plain and compressed: however long it takes."""
    for framing in SPECIMENS:
        with tempfile.TemporaryDirectory() as folder, Progress(transient=True) as progress:
            whole = specimen(framing, Path(folder))
            label = f"{EVERY_BIT}, {framing.name}"
            bits = every_bit(whole)
            check(whole, progress.track(bits, description=label), Path(folder))
        click.echo(f"{label}: {len(bits)} bits, none failed")


if __name__ == "__main__":
    main()
