"""The type of pymongo's client in tests."""

from typing import Any

from pymongo import MongoClient

Client = MongoClient[dict[str, Any]]
