"""Tests of reconcile."""
