"""The value of an event as native columns."""

from spark_jobs.events.cells import CELLS, NO_CELLS, NO_EVENT, read_cells

__all__ = ["CELLS", "NO_CELLS", "NO_EVENT", "read_cells"]
