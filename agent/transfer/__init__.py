"""Where finished segments go: a file for each way, found by the name in the configuration."""

from agent.transfer.base import Backlog, StaysError, Transfer
from agent.transfer.registry import TransferName, TransferSettings, create_transfer
from agent.transfer.remote import RemoteDirectory, parse_remote_directory

__all__ = [
    "Backlog",
    "RemoteDirectory",
    "StaysError",
    "Transfer",
    "TransferName",
    "TransferSettings",
    "create_transfer",
    "parse_remote_directory",
]
