"""Where finished segments go: a file for each way, found by the name in the configuration."""

from agent.transfer.base import Transfer
from agent.transfer.registry import TransferName, create_transfer

__all__ = ["Transfer", "TransferName", "create_transfer"]
