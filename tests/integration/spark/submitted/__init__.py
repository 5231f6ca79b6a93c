"""Jobs submitted to clusters as described in docs/how-to/spark-submit.md."""
