"""Comparison of topics with collections."""
