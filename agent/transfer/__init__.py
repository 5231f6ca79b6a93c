"""Transfers of finished segments: a module for each value of `commit.log.transfer.class`."""

from agent.transfer.base import Backlog, Transfer, TransferDeferredError
from agent.transfer.registry import create_transfer

__all__ = [
    "Backlog",
    "Transfer",
    "TransferDeferredError",
    "create_transfer",
]
