"""The properties that a transfer uses."""

from agent.config.properties import SegmentProperties
from sidecar.config.store import StoreProperties


class TransferProperties(StoreProperties, SegmentProperties):
    """Segments, and the stores that they are sent to."""
