"""Tests of the transfer of finished segments."""
