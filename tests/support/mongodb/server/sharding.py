"""Which shard has which documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from tests.support.mongodb.server.expressions import ABSENT
from tests.support.mongodb.server.key_string import order
from tests.support.mongodb.server.oplog import Namespace
from tests.support.mongodb.server.updates import value_at
from tests.support.mongodb.server.wire import Document

PRIMARY_SHARD = 0


@dataclass
class Sharding:
    """Sharded collections are spread by a checksum of the shard key, all others are on the primary
    shard, or where they were `moved`. `keys` are the fields of the shard key by collection.
    `refuses_direct_operations`: a user needs a right to ask a shard and not the router."""

    shards: int = 1
    keys: dict[Namespace, Sequence[str]] = field(default_factory=dict)
    moved: dict[Namespace, int] = field(default_factory=dict)
    refuses_direct_operations: bool = False

    def key(self, namespace: Namespace, document: Mapping[str, object]) -> Document:
        """The fields of the shard key, null where the document has none."""
        values = {path: value_at(document, path) for path in self.keys.get(namespace, ())}
        return {path: None if value is ABSENT else value for path, value in values.items()}

    def place(self, namespace: Namespace, document: Mapping[str, object]) -> bytes:
        """The key of a document in the store. `_id` is unique on each shard alone."""
        key = order(document["_id"])
        if namespace not in self.keys:
            return key
        return key + bytes([self.shard_of(namespace, document)])

    def shard_of(self, namespace: Namespace, document: Mapping[str, object]) -> int:
        if namespace not in self.keys:
            return self.moved.get(namespace, PRIMARY_SHARD)
        return crc32(order(self.key(namespace, document))) % self.shards
