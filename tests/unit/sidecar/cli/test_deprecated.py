"""Renamed commands and options: the old names work, hidden, and warn on standard error."""

import click
import pytest
from click.testing import CliRunner

from sidecar.cli.deprecated import deprecated_command, deprecated_option


@click.group()
def agent() -> None:
    """A command line."""


@agent.group()
def quarantine() -> None:
    """Quarantined segments."""


@quarantine.command("list")
@deprecated_option("--copies", "--snapshots", is_flag=True)
@click.option("--snapshots", is_flag=True)
@deprecated_option("--place", "--directory", multiple=True)
@click.option("--directory", multiple=True)
def list_(snapshots: bool, directory: tuple[str, ...]) -> None:
    """List quarantined segments."""
    print(f"snapshots={snapshots} directory={','.join(directory)}")


agent.add_command(deprecated_command(quarantine, "agent segments", "agent quarantine"))


def test_a_renamed_group_runs_its_commands_and_warns() -> None:
    result = CliRunner().invoke(agent, ["segments", "list"])
    assert result.stdout == "snapshots=False directory=\n"
    assert result.stderr == (
        "warning: `agent segments`: renamed in 0.2.0. Use `agent quarantine`.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--copies"], "snapshots=True directory="),
        (["--place", "a", "--place", "b"], "snapshots=False directory=a,b"),
        (["--place", "a", "--directory", "b"], "snapshots=False directory=b"),
    ],
)
def test_a_renamed_option_sets_the_new_one_and_warns(arguments: list[str], output: str) -> None:
    result = CliRunner().invoke(agent, ["quarantine", "list", *arguments])
    assert result.stdout.strip() == output
    assert result.stderr.count("renamed in 0.2.0. Use `--") == 1


def test_current_names_do_not_warn() -> None:
    result = CliRunner().invoke(agent, ["quarantine", "list", "--snapshots"])
    assert (result.stdout.strip(), result.stderr) == ("snapshots=True directory=", "")


def test_old_names_are_not_in_the_help() -> None:
    shown = CliRunner().invoke(agent, ["--help"]).stdout
    shown += CliRunner().invoke(agent, ["quarantine", "list", "--help"]).stdout
    assert "  segments" not in shown
    assert "--copies" not in shown
