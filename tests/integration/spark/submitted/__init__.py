"""The jobs as docs/spark.md §1 submits them to clusters."""
