"""Options of the jobs: typed, frozen Java properties from files and the command line.

Each job declares one model that inherits these option groups. `job_command` makes a command of it,
with `--config FILE`, `--set NAME=VALUE` and a `--help` that lists every option.
"""

from spark_jobs.options.command_line import job_command
from spark_jobs.options.session import SessionOptions
from spark_jobs.options.source import SourceOptions
from spark_jobs.options.stream import StreamOptions

__all__ = ["SessionOptions", "SourceOptions", "StreamOptions", "job_command"]
