"""Tests of segment states and stored offsets."""
