"""Findings, and what runs checks."""
