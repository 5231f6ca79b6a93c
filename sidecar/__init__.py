"""The database-independent part of an agent: configuration, delivery, offsets, sinks, HTTP.

The database agent supplies batches of events with positions (`events.DeliveryBatch`). This package
numbers the events, sends them to a sink, persists acknowledged positions and reports the status.
"""
