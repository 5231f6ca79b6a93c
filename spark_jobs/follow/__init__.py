"""Follows a version store: finds the visible changes of its tables between two positions.

`Follower` passes the changes to a `ChangeHandler`, which applies them to a target.
"""

from spark_jobs.follow.changes_between import changes_between
from spark_jobs.follow.follower import Follower
from spark_jobs.follow.handler import ChangeHandler, InterruptedBatch
from spark_jobs.follow.plan import Position

__all__ = ["ChangeHandler", "Follower", "InterruptedBatch", "Position", "changes_between"]
