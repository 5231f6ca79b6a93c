"""Tests of the Cassandra agent."""
