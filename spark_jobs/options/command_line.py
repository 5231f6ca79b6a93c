"""The command line of a job: `--config FILE`, `--set NAME=VALUE`, `--json`, and errors without
tracebacks."""

import json
import logging
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import click

from sidecar.errors import ConfigError, SidecarError
from sidecar.logs import configure
from sidecar.properties.documentation import documentation_text
from sidecar.properties.loading import LoadedProperties, load
from sidecar.properties.source import command_line_settings
from spark_jobs.errors import mapped_error
from spark_jobs.options.job import SessionOptions

Options = TypeVar("Options", bound=SessionOptions)
logger = logging.getLogger(__name__)

_INTERRUPTED = 130
_JSON = "--json"


@dataclass(frozen=True, slots=True)
class JobReport:
    message: str
    """Lines that the command prints."""
    values: Mapping[str, object]
    """The members of the `--json` document, in addition to `message`."""
    exit_code: int = 0
    """Exit code of the command. `spark_jobs.errors` lists the exit codes of errors."""


def job_command(
    name: str, model: type[Options], run: Callable[[Options], JobReport | None], *, about: str
) -> Callable[[Sequence[str] | None], NoReturn]:
    """Create a main function that reads the options, runs the job, prints its report on standard
    output, and exits with its code.

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
    @click.option(_JSON, "as_json", is_flag=True, help="Print the report or error as JSON.")
    def command(
        files: tuple[Path, ...], overrides: tuple[str, ...], debug: bool, as_json: bool
    ) -> None:
        # Imported here, because the packages of all jobs import this module.
        from spark_jobs.property_names import all_names

        try:
            settings = command_line_settings(overrides)
            loaded = load(model, files, overrides=settings, elsewhere=all_names())
            _start_log(loaded, debug=debug)
            report = run(loaded.properties)
        except Exception as error:
            _exit_with(name, error, debug=debug, as_json=as_json)
        if report is not None and as_json:
            _print_json({"message": report.message, **report.values})
        elif report is not None:
            print(report.message)
        if report is not None and report.exit_code:
            sys.exit(report.exit_code)

    def main(arguments: Sequence[str] | None = None) -> NoReturn:
        given = sys.argv[1:] if arguments is None else list(arguments)
        try:
            command.main(given, prog_name=name, standalone_mode=False)
        except click.ClickException as error:
            if _JSON in given:
                _print_failure([error.format_message()], error.exit_code)
            else:
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


def _print_json(document: Mapping[str, object]) -> None:
    print(json.dumps(document, indent=2, default=str))


def _print_failure(problems: Sequence[str], exit_code: int) -> None:
    """Print a failure in the same format as the agents' commands."""
    _print_json({"error": "\n".join(problems), "exit_code": exit_code, "problems": problems})


def _exit_with(name: str, error: Exception, *, debug: bool, as_json: bool) -> NoReturn:
    mapped = mapped_error(error)
    if debug:
        traceback.print_exception(error)
    if isinstance(mapped, ConfigError):
        messages = list(mapped.problems)
    elif isinstance(mapped, SidecarError):
        messages = [str(mapped)]
    else:
        messages = [f"Unexpected error: {type(error).__name__}: {error}"]
    code = mapped.exit_code if isinstance(mapped, SidecarError) else 1
    if as_json:
        _print_failure(messages, code)
    else:
        for message in messages:
            print(f"{name}: {message}", file=sys.stderr)
    sys.exit(code)
