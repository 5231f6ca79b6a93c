"""Options of the jobs: Java properties, typed and frozen, from files and the command line.

A job declares one model on top of the groups here and gets from `configured` a command with
`--config FILE` and `--set name=value`, whose `--help` names every option.
"""

from spark_jobs.options.command_line import configured
from spark_jobs.options.session import SessionOptions
from spark_jobs.options.source import SourceOptions
from spark_jobs.options.stream import StreamOptions

__all__ = ["SessionOptions", "SourceOptions", "StreamOptions", "configured"]
