"""From change streams and copies to acknowledged messages and stored progress."""

from mongo_agent.pipeline.lane import Lane
from mongo_agent.pipeline.pipeline import OpenLane, Pipeline
from mongo_agent.pipeline.settings import HeartbeatSettings, PipelineSettings
from mongo_agent.pipeline.view import LaneView, View

__all__ = [
    "HeartbeatSettings",
    "Lane",
    "LaneView",
    "OpenLane",
    "Pipeline",
    "PipelineSettings",
    "View",
]
