"""Errors of the command line."""

import pytest

from sidecar.cli.entry import option_hint


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["a b.json"], "No such command 'a b.json'.", "--config 'a b.json'."),
        (
            ["check", "cdc.properties"],
            "Extra argument (cdc.properties)",
            "--config cdc.properties.",
        ),
        (["-Dlog.level=debug"], "No such option '-D'.", "--set log.level=debug."),
        (["-D", "log.level=debug"], "No such option '-D'.", "--set NAME=VALUE."),
        (["--config", "cdc.properties", "--foo"], "No such option '--foo'.", None),
        (["check", "--foo"], "No such option '--foo'.", None),
    ],
)
def test_rejected_argument_of_another_program_names_the_option(
    arguments: list[str], message: str, hint: str | None
) -> None:
    found = option_hint(message, arguments)
    assert found.endswith(f" with {hint}") if hint else found == ""
