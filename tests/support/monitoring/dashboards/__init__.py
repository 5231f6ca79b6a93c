"""Grafana dashboards as data: one module a dashboard, one line or a few a panel."""
