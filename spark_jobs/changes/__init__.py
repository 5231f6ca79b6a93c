"""Publishes each change of a row once, in order for each row, with the row before and after it."""
