"""Tests of the life of segments and of the ledger."""
