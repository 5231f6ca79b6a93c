"""Deduplicate events from Kafka topics into a Delta table or a topic.

Every replica publishes its writes, so each change arrives once per replica. The job keeps the first
copy of each event. It loses no event, however late, and writes none twice within ttl.ms. A Delta
table gets each event exactly once, even after failures. Exit codes: 0 the job ended or was stopped;
2 invalid options, checkpoint of another job, or missing jar; 6 a record is not an event; 1 any
other error."""

from spark_jobs.dedupe.job import main
from spark_jobs.dedupe.options import DedupeJobOptions
from spark_jobs.options.command_line import job_command

if __name__ == "__main__":
    job_command("spark_jobs.dedupe", DedupeJobOptions, main, about=__doc__)(None)
