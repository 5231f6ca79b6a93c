"""Prometheus metrics that all agents have."""

from sidecar.metrics.delivery import CONTENT_TYPE, PREFIX, DeliveryMetrics

__all__ = ["CONTENT_TYPE", "PREFIX", "DeliveryMetrics"]
