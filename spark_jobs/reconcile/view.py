"""Write the source table as SELECT shows it at a second into a Delta table, with its columns and
types. Readers see the previous view until the new one is complete."""

from spark_jobs.column_names import require_names
from spark_jobs.delta_table import replace_delta_table
from spark_jobs.options.command_line import JobReport, job_command
from spark_jobs.reconcile.job import open_store
from spark_jobs.reconcile.options import ViewOptions
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.visible_rows import (
    changes_at,
    left_out_text,
    merger_of,
    typed_row,
    write_typed,
)
from spark_jobs.session import create_job_session


def _run(options: ViewOptions) -> JobReport:
    schema = read_schema(options.schema_file)
    table = schema.table(options.table)
    row = typed_row(merger_of(schema, table))
    require_names(table.full_name, row, "delta", "Use `spark_jobs.rebuild` with `format=cql`.")
    session = create_job_session("cdc-view", options)
    now_s = options.second()
    changes = changes_at(open_store(session, options), schema, table, now_s)
    target = options.view_output
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
