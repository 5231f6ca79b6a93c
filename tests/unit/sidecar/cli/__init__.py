"""Tests of the shared command-line code."""
