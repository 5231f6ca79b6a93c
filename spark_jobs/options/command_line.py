"""The command line of a job: `--config FILE`, `--set NAME=VALUE`, errors without tracebacks."""

import logging
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import click

from sidecar.errors import ConfigError, SidecarError
from sidecar.logs import configure
from sidecar.properties.documentation import documentation_text
from sidecar.properties.loading import LoadedProperties, load
from sidecar.properties.source import command_line_settings
from spark_jobs.error_mapping import mapped_error
from spark_jobs.options.session import SessionOptions

Options = TypeVar("Options", bound=SessionOptions)
logger = logging.getLogger(__name__)

_INTERRUPTED = 130


def job_command(
    name: str, model: type[Options], run: Callable[[Options], None], *, about: str
) -> Callable[[Sequence[str] | None], NoReturn]:
    """A main function that reads the options, runs the job and exits with its code.

    `about` is the text of `--help`. `spark_jobs.errors` lists the exit codes.
    """

    @click.command(
        name,
        help=about,
        epilog=f"Options for --config and --set:\n\n{documentation_text(model)}",
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    @click.option(
        "--config",
        "files",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Properties file. Repeatable; later files override earlier ones.",
    )
    @click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="NAME=VALUE",
        help="Set one option; overrides the files. Repeatable.",
    )
    @click.option("--debug", is_flag=True, help="Log at debug level and print tracebacks.")
    def command(files: tuple[Path, ...], overrides: tuple[str, ...], debug: bool) -> None:
        try:
            loaded = load(model, files, overrides=command_line_settings(overrides))
            _start_log(loaded, debug=debug)
            run(loaded.properties)
        except Exception as error:
            _exit_with(name, error, debug=debug)

    def main(arguments: Sequence[str] | None = None) -> NoReturn:
        try:
            command.main(arguments, prog_name=name, standalone_mode=False)
        except click.ClickException as error:
            error.show()
            sys.exit(error.exit_code)
        except (click.Abort, KeyboardInterrupt):
            sys.exit(_INTERRUPTED)
        sys.exit(0)

    return main


def _start_log(loaded: LoadedProperties[Options], *, debug: bool) -> None:
    options = loaded.properties
    configure(options.log_format, "debug" if debug else options.log_level)
    for noisy in ("py4j", "pyspark"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    for warning in loaded.warnings:
        logger.warning(warning)


def _exit_with(name: str, error: Exception, *, debug: bool) -> NoReturn:
    mapped = mapped_error(error)
    if debug:
        traceback.print_exception(error)
    if isinstance(mapped, ConfigError):
        messages = list(mapped.problems)
    elif isinstance(mapped, SidecarError):
        messages = [str(mapped)]
    else:
        messages = [f"Unexpected error: {type(error).__name__}: {error}"]
    for message in messages:
        print(f"{name}: {message}", file=sys.stderr)
    sys.exit(mapped.exit_code if isinstance(mapped, SidecarError) else 1)
