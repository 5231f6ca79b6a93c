"""Schemas over time: definitions from feeders and the log in any order, and decoding with them."""
