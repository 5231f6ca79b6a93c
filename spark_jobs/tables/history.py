"""List the commits of typed tables, newest first, with the version of the store, the second and the
Kafka offsets that each commit shows, and the statement that reads it."""

from dataclasses import asdict

from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.session import create_job_session
from spark_jobs.tables.commit_position import Part
from spark_jobs.tables.format.typed_table import Commit, TypedTable
from spark_jobs.tables.options import HistoryOptions
from spark_jobs.tables.target import open_existing_table


def _run(options: HistoryOptions) -> JobReport:
    session = create_job_session("cdc-tables-history", options)
    histories = {}
    lines = []
    for name in options.tables:
        table = open_existing_table(session, options, name)
        commits = table.commits(options.limit)
        histories[name] = [_document(table, commit) for commit in commits]
        lines += [f"{name}:", *(f"  {_line(table, commit)}" for commit in commits)]
    return JobReport("\n".join(lines), {"tables": histories})


def query(table: TypedTable, commit: Commit) -> str:
    """The statement that reads a commit."""
    return f"SELECT * FROM {table.sql_name} VERSION AS OF {commit.version}"


def _line(table: TypedTable, commit: Commit) -> str:
    position = commit.position
    if position is None:
        place = commit.operation
    else:
        place = f"store version {position.store_version} at second {position.second}"
        if position.part == Part.MERGE:
            place += ", without its new rows"
    return f"{commit.committed_at:%Y-%m-%d %H:%M:%S}  {place}  {query(table, commit)}"


def _document(table: TypedTable, commit: Commit) -> dict[str, object]:
    committed_at = commit.committed_at.isoformat()
    return {**asdict(commit), "committed_at": committed_at, "query": query(table, commit)}


if __name__ == "__main__":
    job_command("spark_jobs.tables.history", HistoryOptions, _run, about=__doc__)(None)
