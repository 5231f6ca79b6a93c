"""Writes alarms and dashboards: `python -m tests.support.monitoring`."""
