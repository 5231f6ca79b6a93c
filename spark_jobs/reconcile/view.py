"""Write the source table as SELECT shows it at a second into a Delta table, with its columns and
types. Readers see the previous view until the new one is complete."""

from spark_jobs.column_names import require_names
from spark_jobs.delta_table import replace_delta_table
from spark_jobs.merge import ReadOptions
from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.options import ViewOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.visible_rows import (
    first_changes,
    left_out_text,
    merger_of,
    typed_row,
    write_typed,
)
from spark_jobs.session import create_job_session


def _run(options: ViewOptions) -> JobReport:
    schema = read_schema(options.schema_file)
    table = schema.table(options.table)
    merger = merger_of(schema, table)
    remedy = "Use `spark_jobs.rebuild` with `format=cql`."
    require_names(table.full_name, typed_row(merger), "delta", remedy)
    store = open_store(create_job_session("cdc-view", options), options)
    now_s, target = options.second(), options.view_output
    read = ReadOptions(now_s=now_s, truncated_us=store.truncated_us(table.id))
    changes = first_changes(store.rows(table.id), merger, read)
    rows, rejected = write_typed(changes, lambda view: replace_delta_table(view, target))
    text = f"Wrote {rows} rows of {table.full_name} at second {now_s} to {target}"
    return JobReport(
        text + left_out_text(rejected),
        {
            "table": table.full_name,
            "rows": rows,
            "rejected": rejected,
            "at_s": now_s,
            "output": target,
        },
    )


if __name__ == "__main__":
    job_command("spark_jobs.reconcile.view", ViewOptions, _run, about=__doc__)(None)
