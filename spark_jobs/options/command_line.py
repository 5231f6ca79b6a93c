"""The command line of a job: `--config FILE`, `--set name=value`, errors as sentences."""

import logging
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import click

from sidecar.errors import ConfigError, SidecarError
from sidecar.logs import configure
from sidecar.properties import Loaded, command_line_settings, documentation_text, load
from spark_jobs.faults import known_fault
from spark_jobs.options.session import SessionOptions

Options = TypeVar("Options", bound=SessionOptions)
logger = logging.getLogger(__name__)

_INTERRUPTED = 130


def configured(
    name: str, model: type[Options], run: Callable[[Options], None], *, about: str
) -> Callable[[Sequence[str] | None], NoReturn]:
    """A main function: reads the options, runs the job, ends the process with its exit code.

    `about` is what `--help` says first. Exit codes are those of `spark_jobs.errors`.
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
        help="Properties file; of several, later ones over earlier ones.",
    )
    @click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="NAME=VALUE",
        help="One option, over the files; repeatable.",
    )
    @click.option("--debug", is_flag=True, help="Show tracebacks.")
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


def _start_log(loaded: Loaded[Options], *, debug: bool) -> None:
    options = loaded.properties
    configure(options.log_format, "debug" if debug else options.log_level)
    for noisy in ("py4j", "pyspark"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    for sentence in loaded.warnings:
        logger.warning(sentence)


def _exit_with(name: str, error: Exception, *, debug: bool) -> NoReturn:
    fault = known_fault(error)
    if debug:
        traceback.print_exception(error)
    if isinstance(fault, ConfigError):
        sentences = list(fault.problems)
    elif isinstance(fault, SidecarError):
        sentences = [str(fault)]
    else:
        sentences = [f"An unexpected fault: {type(error).__name__}: {error}"]
    for sentence in sentences:
        print(f"{name}: {sentence}", file=sys.stderr)
    sys.exit(fault.exit_code if isinstance(fault, SidecarError) else 1)
