"""Jolokia's protocol over metrics under Debezium's names, for existing scrapers."""
