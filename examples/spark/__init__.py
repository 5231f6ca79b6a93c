"""The demo of the Spark jobs."""
