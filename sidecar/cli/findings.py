"""Findings of a check on the terminal."""

import sys
from collections.abc import Iterable
from contextlib import nullcontext

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sidecar.check.finding import Finding, Level

_STYLE = {Level.OK: "green", Level.WARNING: "yellow", Level.FAULT: "bold red"}


def show_findings(found: Iterable[Finding]) -> int:
    """Prints them when all are there. Gives the exit code: 1 when there is a fault."""
    console = Console(stderr=True)
    findings: list[Finding] = []
    with console.status("Looking …") if console.is_terminal else nullcontext():
        findings.extend(found)
    _print(findings)
    return 1 if any(finding.level is Level.FAULT for finding in findings) else 0


def _print(findings: list[Finding]) -> None:
    if not sys.stdout.isatty():
        for finding in findings:
            print(
                f"{finding.level:8}{finding.subject}: {finding.sentence} {finding.remedy}".rstrip()
            )
        return
    table = Table("", "what", "finding", "what to do", show_lines=False)
    for finding in findings:
        level = f"[{_STYLE[finding.level]}]{finding.level}[/]"
        table.add_row(level, *map(escape, (finding.subject, finding.sentence, finding.remedy)))
    Console().print(table)
