"""Grafana dashboards as data: one file a dashboard, a few lines a panel."""
