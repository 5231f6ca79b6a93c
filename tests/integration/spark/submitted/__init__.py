"""The jobs as docs/how-to/spark-dedupe.md §1 submits them to clusters."""
