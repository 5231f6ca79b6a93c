"""`agent check`: everything around the agent, as a table of findings."""

import sys
from contextlib import nullcontext

import click
from rich.console import Console
from rich.table import Table

from agent.check.finding import Finding, Level
from agent.cli.invocation import Invocation, configuration_options

_STYLE = {Level.OK: "green", Level.WARNING: "yellow", Level.FAULT: "bold red"}


@click.command("check", short_help="Look at the node, the broker and the directories.")
@configuration_options
@click.pass_obj
def check(invocation: Invocation) -> None:
    """Say of everything that the agent needs whether it is right, and what to do where it is not.

    Changes nothing and may run beside the agent. Exit code 1 when there is a fault.
    """
    # Imported here: the clients of the broker and the node take long to load.
    from agent.check.survey import run_checks

    config = invocation.config()
    console = Console(stderr=True)
    findings: list[Finding] = []
    with console.status("Looking …") if console.is_terminal else nullcontext():
        findings.extend(run_checks(config))
    _print(findings)
    sys.exit(1 if any(finding.level is Level.FAULT for finding in findings) else 0)


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
        table.add_row(level, finding.subject, finding.sentence, finding.remedy)
    Console().print(table)
