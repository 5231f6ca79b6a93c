"""Change streams and snapshots on their way to acknowledged messages and stored offsets."""

from mongo_agent.pipeline.pipeline import Pipeline
from mongo_agent.pipeline.settings import HeartbeatSettings, PipelineSettings
from mongo_agent.pipeline.stream import Stream
from mongo_agent.pipeline.stream_set import OpenStream
from mongo_agent.pipeline.view import StreamView, View

__all__ = [
    "HeartbeatSettings",
    "OpenStream",
    "Pipeline",
    "PipelineSettings",
    "Stream",
    "StreamView",
    "View",
]
