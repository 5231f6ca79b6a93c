"""The value of an event as native columns."""

from spark_jobs.events.cells import ANY_OTHER, CELLS, NO_CELLS, NO_EVENT, WRITTEN, read_cells

__all__ = ["ANY_OTHER", "CELLS", "NO_CELLS", "NO_EVENT", "WRITTEN", "read_cells"]
