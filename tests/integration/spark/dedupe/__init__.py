"""Tests of dedupe."""
