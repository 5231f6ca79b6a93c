"""Errors of the jobs; their policy and exit codes are those of `sidecar.errors`.

    SidecarError
    ├── ConfigError              2   an option is not as it must be
    └── JobError                 1   a job cannot go on
        ├── SetupError           2   a jar, a package or a program is missing
        ├── CheckpointError      2   the checkpoint belongs to another job
        └── InputError           6   a topic holds what is no event, or not an event of this form

The message of an error is one sentence for a person: what happened, where, what to do. What Spark
raises is turned into one of these where it has a known cause (`spark_jobs.faults`).
"""

from sidecar.errors import SidecarError


class JobError(SidecarError):
    """A job cannot go on."""


class SetupError(JobError):
    """Something that the job runs with is not there; the message says how to get it."""

    exit_code = 2


class CheckpointError(JobError):
    """The checkpoint was written by another job or with options that cannot change."""

    exit_code = 2


class InputError(JobError):
    """A record is no event, or lacks what the job needs; the message names its place."""

    exit_code = 6
