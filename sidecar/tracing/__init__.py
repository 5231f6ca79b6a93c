"""Tracing of delivery (`tracing.enabled`).

A span `batch` lasts from reading a batch until all its events are acknowledged. Its parent is the
span `segment`, from the first batch of a segment until the segment leaves `cdc_raw`. Every event
carries the context of its batch in the header `traceparent`
(https://www.w3.org/TR/trace-context/), so that consumers can continue the trace.
"""
