"""Prometheus metrics that all agents share."""

from sidecar.metrics.delivery import CONTENT_TYPE, DeliveryMetrics

__all__ = ["CONTENT_TYPE", "DeliveryMetrics"]
