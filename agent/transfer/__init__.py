"""Where finished segments go: a file for each way, found by the name in the configuration."""

from agent.transfer.base import Backlog, Transfer, TransferDeferredError
from agent.transfer.registry import TransferSettings, create_transfer

__all__ = [
    "Backlog",
    "Transfer",
    "TransferDeferredError",
    "TransferSettings",
    "create_transfer",
]
