"""Tests of the comparison of topics with collections."""
