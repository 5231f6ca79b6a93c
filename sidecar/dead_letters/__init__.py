"""The stored form of undeliverable events, with the reason.

A sink rejects an event, `sidecar.delivery` collects it, and the agent stores it in its
quarantine.
"""
