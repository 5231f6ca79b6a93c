"""The form of events that cannot be delivered, with their reason.

A sink rejects an event, `sidecar.delivery` collects it, and the agent stores it in its
quarantine.
"""
