"""Options of the jobs: typed, frozen Java properties from files and the command line.

Each job declares one model that inherits these option groups. `job_command` makes a command of it,
with `--config FILE`, `--set NAME=VALUE` and a `--help` that lists every option.
"""
