"""Jobs submitted to clusters as docs/how-to/spark-submit.md describes."""
