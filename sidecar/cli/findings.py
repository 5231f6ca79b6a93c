"""Prints the findings of checks: rows on a terminal, lines in a pipe, or JSON."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from sidecar.check.check import Check, Finding, Level, ProbeT, fault, listed
from sidecar.check.running import run_checks
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import json_output, print_json
from sidecar.errors import ConfigError
from sidecar.properties.show import runnable

ProbeOf = Callable[[Any], AbstractContextManager[ProbeT]]

FAULTY = 1
"""Exit code of a check that found a fault."""
_STYLE = {Level.OK: "green", Level.WARNING: "yellow", Level.FAULT: "bold red"}
_QUIET_S = 3.0
_SUBJECT_WIDTH = 16


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings. A mistake in the configuration is a finding too."""

    findings: tuple[Finding, ...]
    summary: Mapping[Level, int]
    """Number of findings of each level."""
    exit_code: int
    """0 without faults, 1 with faults, 2 for an invalid configuration."""


def check_command(
    short_help: str, parts: Callable[[], tuple[Sequence[Check[ProbeT]], ProbeOf[ProbeT]]]
) -> click.Command:
    """Create the command `check`. `parts` imports the checks, and the function that creates their
    probe from a configuration."""

    @click.command("check", short_help=short_help)
    @json_output(CheckReport, text="Print one JSON document after all checks.")
    @configuration_options
    @click.pass_obj
    def check(invocation: Invocation[Any]) -> None:
        """Check everything that `run` needs, and print a remedy for each fault.

        Changes nothing, and can run while the agent runs. Exit code 1: there is a fault; 2: the
        configuration is invalid.
        """
        checks, probe = parts()
        with ExitStack() as stack:
            check_and_exit(
                checks,
                lambda: stack.enter_context(probe(invocation.config())),
                as_json=invocation.is_json,
                files=invocation.files,
            )

    return check


def check_and_exit(
    checks: Sequence[Check[ProbeT]],
    load: Callable[[], ProbeT],
    *,
    as_json: bool,
    files: Sequence[Path] = (),
) -> None:
    """Run the checks, print each finding, and exit with 1 if there is a fault, else 0. Commands in
    remedies include the configuration `files`.

    `load` creates the probe. With `--json`, configuration errors become findings with exit code 2.
    """
    if as_json:
        sys.exit(_json(checks, load, files))
    probe = load()
    with _Progress() as progress:
        found = (_runnable(each, files) for each in run_checks(checks, probe, progress.show))
        sys.exit(show_findings(found, before=progress.hide))


def show_findings(found: Iterable[Finding], before: Callable[[], None] = lambda: None) -> int:
    """Print each finding, after calling `before`. Returns the exit code."""
    levels: Counter[Level] = Counter()
    console = Console() if sys.stdout.isatty() else None
    for finding in found:
        before()
        levels[finding.level] += 1
        if console is None:
            print(_line(finding), flush=True)
        else:
            console.print(_row(finding))
    before()
    if console is not None:
        console.print(_summary(levels), highlight=False)
    return FAULTY if levels[Level.FAULT] else 0


def _runnable(finding: Finding, files: Sequence[Path]) -> Finding:
    message, remedy = (runnable(text, files) for text in (finding.message, finding.remedy))
    return replace(finding, message=message, remedy=remedy)


def _json(
    checks: Sequence[Check[ProbeT]], load: Callable[[], ProbeT], files: Sequence[Path]
) -> int:
    try:
        probe = load()
    except ConfigError as error:
        remedy = "Correct the configuration: `config check` reports file and line."
        findings = [
            fault("configuration", problem, remedy, code="configuration_invalid")
            for problem in error.problems
        ]
        code = error.exit_code
    else:
        with _Progress() as progress:
            findings = list(run_checks(checks, probe, progress.show))
        code = FAULTY if any(each.level is Level.FAULT for each in findings) else 0
    findings = [_runnable(each, files) for each in findings]
    levels = Counter(finding.level for finding in findings)
    print_json(CheckReport(tuple(findings), {level: levels[level] for level in Level}, code))
    return code


class _Progress:
    """Shows progress on stderr: as a status line on a terminal, otherwise as separate lines."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._status: Status | None = None
        self._shown: tuple[str, ...] = ()

    def __enter__(self) -> "_Progress":
        return self

    def __exit__(self, *raised: object) -> None:
        self.hide()

    def show(self, servers: tuple[str, ...], for_s: float) -> None:
        text = f"waiting for {listed(list(servers))} …"
        if self._console.is_terminal:
            if self._status is None:
                self._status = self._console.status(escape(text))
                self._status.start()
            else:
                self._status.update(escape(text))
        elif for_s >= _QUIET_S and servers != self._shown:
            self._shown = servers
            print(text, file=sys.stderr, flush=True)

    def hide(self) -> None:
        """Clear the status line before a finding is printed."""
        if self._status is not None:
            self._status.stop()
            self._status = None


def _line(finding: Finding) -> str:
    # A message with line breaks would look like several findings.
    text = f"{finding.level:9}{finding.subject}: {finding.message} {finding.remedy}"
    return " ".join(text.split("\n")).rstrip()


def _row(finding: Finding) -> Table:
    row = Table.grid(padding=(0, 1))
    row.add_column(width=len(Level.WARNING))
    row.add_column(width=_SUBJECT_WIDTH, overflow="fold")
    row.add_column(overflow="fold")
    text = escape(finding.message)
    if finding.remedy:
        text += f"\n[bold]→[/] {escape(finding.remedy)}"
    row.add_row(f"[{_STYLE[finding.level]}]{finding.level}[/]", escape(finding.subject), text)
    return row


def _summary(levels: Counter[Level]) -> str:
    parts = [f"{levels[Level.OK]} ok"]
    for level in (Level.WARNING, Level.FAULT):
        parts.append(f"{levels[level]} {level.value}{'' if levels[level] == 1 else 's'}")
    return ", ".join(parts)
