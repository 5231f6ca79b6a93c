"""A user's function over every event, before the sink: `event.transform=module:function`."""

from sidecar.transform.transform import (
    Event,
    Transform,
    TransformedBatch,
    TransformError,
    header_added,
    transform_named,
)

__all__ = [
    "Event",
    "Transform",
    "TransformError",
    "TransformedBatch",
    "header_added",
    "transform_named",
]
