"""The command `completion`: scripts for shells."""

import click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


def completion_command(name: str) -> click.Command:
    """The command `completion` of the program `name`."""

    @click.command("completion", short_help="Print the completion script of a shell.")
    @click.argument("shell", type=click.Choice(_SHELLS))
    @click.pass_context
    def completion(context: click.Context, shell: str) -> None:
        """Print the script that completes commands and options in SHELL.

        Load it in the shell's start file, such as `eval "$(agent completion bash)"` in ~/.bashrc.
        """
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
        kind = get_completion_class(shell)
        assert kind is not None
        click.echo(kind(context.find_root().command, {}, name, variable).source())

    return completion
