"""Segments in `cdc_raw` on their way to acknowledged events and stored offsets."""

from agent.pipeline.pipeline import Pipeline
from agent.pipeline.reader import OpenReader, Reader, SchemaSource, open_with
from agent.pipeline.settings import PipelineSettings
from agent.pipeline.view import BlockedView, View

__all__ = [
    "BlockedView",
    "OpenReader",
    "Pipeline",
    "PipelineSettings",
    "Reader",
    "SchemaSource",
    "View",
    "open_with",
]
