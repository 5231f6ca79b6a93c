"""The part of an agent that no database needs: configuration, delivery, offsets, sinks, HTTP.

An agent for a database gives the events (`events.DeliveryBatch`) and its positions; this package
numbers them, hands them to a sink, keeps the acknowledged position durable, and shows all of it.
"""
