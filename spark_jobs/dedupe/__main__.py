"""`python -m spark_jobs.dedupe`, and for spark-submit."""

from spark_jobs.dedupe.job import main
from spark_jobs.dedupe.job_options import DedupeJobOptions
from spark_jobs.options import configured

_ABOUT = """One copy of each event, from Kafka topics to a Delta table or a topic.

Every replica publishes what it writes, so each change arrives once for each of them. This keeps the
first copy. No event is lost, however late; within ttl.ms none comes twice; a Delta table has each
exactly once, over any failure. Exit codes: 0 done or stopped on request, 2 options, checkpoint or a
missing jar, 6 a record that is no event, 1 anything else."""

if __name__ == "__main__":
    configured("spark_jobs.dedupe", DedupeJobOptions, main, about=_ABOUT)(None)
