"""Tests of the MongoDB agent's configuration."""
