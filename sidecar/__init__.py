"""What every database sidecar needs: configuration, delivery, progress, sinks, and a view of it.

An agent for a database gives the events (`delivery.EventBatch`) and its positions; this package
numbers them, hands them to a sink, keeps the acknowledged position durable, and shows all of it.
"""
