"""Transfers of finished segments: a module for each value of `commit.log.transfer.class`."""
