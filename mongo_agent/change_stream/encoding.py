"""Encoding of a stream's events, with transaction state that spans replies."""

import threading
from collections.abc import Callable

from mongo_agent.documents import ClusterTime
from mongo_agent.encoder import ChangeEvents, MongoBatch, MongoEncoder, MongoTransaction
from sidecar.schema_registry.registration import SchemaRegistration


class StreamEncoder:
    """Encodes events on the reader's thread; `transaction` is the open transaction, or None."""

    def __init__(
        self,
        encoder: MongoEncoder,
        transaction: MongoTransaction | None,
        registration: SchemaRegistration | None = None,
    ) -> None:
        """`registration` registers Avro schemas."""
        self._encoder = encoder
        self._registration = registration
        self.transaction = transaction

    def encode(self, events: ChangeEvents, closed: threading.Event) -> MongoBatch | None:
        """Encode events, waiting for the schema registry; return None if `closed` is set first.

        Raises AccessDeniedError if the registry rejects the agent.
        """
        if self._registration is not None:
            self._registration.reconsider(closed)
        transaction = self.transaction
        batch = self._encode_registered(
            lambda: self._encoder.encode(events, transaction=transaction), closed
        )
        if batch is not None:
            self.transaction = batch.transaction_after(len(events))
        return batch

    def end(self, time: ClusterTime, closed: threading.Event) -> MongoBatch | None:
        """Encode the end of the open transaction if a token with this time proves that it ended."""
        open_one = self.transaction
        if open_one is None:
            return None
        batch = self._encode_registered(
            lambda: self._encoder.end_transaction(open_one, (time.second, time.increment)), closed
        )
        if batch is None or not len(batch):
            return None
        self.transaction = None
        return batch

    def _encode_registered(
        self, make: Callable[[], MongoBatch], closed: threading.Event
    ) -> MongoBatch | None:
        batch = make()
        while self._registration is not None and batch.unregistered:
            if not self._registration.wait(batch.unregistered, closed):
                return None
            batch = make()
        return batch
