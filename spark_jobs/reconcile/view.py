"""The command `python -m spark_jobs.reconcile.view`: writes a source table as a Delta table."""

from pyspark import StorageLevel
from pyspark.sql import Observation
from pyspark.sql import functions as F

from spark_jobs.column_names import require_names
from spark_jobs.delta_table import replace_delta_table
from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.merged import merger_of, typed_row
from spark_jobs.reconcile.options import ViewOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.visible_rows import first_changes
from spark_jobs.session import create_job_session

_SHOWN = 5
"""Rejected rows in the message."""


def _run(options: ViewOptions) -> JobReport:
    schema = read_schema(options.schema_file)
    table = schema.table(options.table)
    row = typed_row(merger_of(schema, table))
    require_names(table.full_name, row, "delta", "Use `spark_jobs.rebuild` with `format=cql`.")
    session = create_job_session("cdc-view", options)
    now_s = options.second()
    changes = first_changes(open_store(session, options), schema, table, now_s)
    cached, counted = changes.persist(StorageLevel.DISK_ONLY), Observation()
    try:
        view = cached.where(F.col("op").isNotNull()).select("after.*")
        replace_delta_table(view.observe(counted, F.count("*").alias("rows")), options.view_output)
        left_out = cached.where(F.col("rejected").isNotNull()).select("rejected")
        rejected = left_out.count()
        examples = [row["rejected"] for row in left_out.limit(_SHOWN).collect()] if rejected else []
    finally:
        cached.unpersist()
    rows = counted.get["rows"]
    text = f"Wrote {rows} rows of {table.full_name} at second {now_s} to {options.view_output}"
    if rejected:
        text += f". Left out {rejected} rows whose values have no typed form: {'; '.join(examples)}"
    return JobReport(
        text,
        {
            "table": table.full_name,
            "rows": rows,
            "rejected": rejected,
            "at_s": now_s,
            "output": options.view_output,
        },
    )


_ABOUT = (
    "Write the source table as SELECT shows it at a second into a Delta table, with its columns "
    "and types. Readers see the previous view until the new one is complete."
)

if __name__ == "__main__":
    job_command("spark_jobs.reconcile.view", ViewOptions, _run, about=_ABOUT)(None)
