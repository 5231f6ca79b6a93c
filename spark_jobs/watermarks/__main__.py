"""Report up to which time the topics contain every acknowledged write of each table.

The job reads the topic of the agents' watermarks, combines the replicas of each token range, and
continues the watermarks of its last run. With store, it also reports how complete that table is.
Exit codes: 0 the watermarks are evaluated; 2 invalid options, state of another job, or missing jar;
6 a message is not a watermark; 1 any other error."""

from spark_jobs.options.command_line import job_command
from spark_jobs.watermarks.job import main
from spark_jobs.watermarks.options import WatermarkOptions

if __name__ == "__main__":
    job_command("spark_jobs.watermarks", WatermarkOptions, main, about=__doc__)(None)
