"""Errors of the jobs. Their policies and exit codes follow `sidecar.errors`.

    SidecarError
    ├── ConfigError              2   an option is invalid
    └── JobError                 1   a job cannot continue
        ├── SetupError           2   a jar, a package or a program is missing
        ├── CheckpointError      2   the checkpoint belongs to another job
        └── InputError           6   a record is not an event of the supported format

A message states what failed, where, and what to do. `spark_jobs.error_mapping` maps exceptions of
Spark with a known cause to these errors.
"""

from sidecar.errors import SidecarError


class JobError(SidecarError):
    """A job cannot continue."""


class SetupError(JobError):
    """A jar, a package or a program is missing. The message explains how to install it."""

    exit_code = 2


class CheckpointError(JobError):
    """The checkpoint belongs to another job, or a fixed option has changed."""

    exit_code = 2


class InputError(JobError):
    """A record is not an event, or lacks a member that the job needs. The message names it."""

    exit_code = 6
