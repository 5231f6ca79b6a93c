"""Options of the jobs: typed, frozen Java properties from files and the command line.

Each job declares one model that inherits these option groups. `job_command` turns it into a command
with `--config FILE`, `--set NAME=VALUE` and a `--help` text that lists every option.
"""
