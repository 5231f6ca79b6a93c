"""Publishes each row change once, in order per row, with the row before and after the change."""
