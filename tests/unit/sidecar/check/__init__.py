"""Tests of findings and of the check runner."""
