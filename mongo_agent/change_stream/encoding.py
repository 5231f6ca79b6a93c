"""Events of a stream as messages, with the transaction that goes over the replies of the server."""

import threading
from collections.abc import Callable

from commitlog import Unregistered
from mongo_agent.change_stream.tokens import ClusterTime
from mongo_agent.encoder import ChangeEvents, MongoBatch, MongoEncoder, MongoTransaction
from sidecar.schema_registry.registration import SchemaRegistration


class Encoding:
    """Used by the reader's thread alone. `transaction` is the one that is open where it begins."""

    def __init__(
        self,
        encoder: MongoEncoder,
        transaction: MongoTransaction | None,
        registration: SchemaRegistration[Unregistered] | None = None,
    ) -> None:
        """`registration` gets ids for schemas, where messages are Avro."""
        self._encoder = encoder
        self._registration = registration
        self.transaction = transaction

    def encode(self, events: ChangeEvents, closed: threading.Event) -> MongoBatch | None:
        """Waits for a schema registry, where there is one; None when it was closed meanwhile.
        Raises RefusedError when the registry refuses us."""
        if self._registration is not None:
            self._registration.reconsider(closed)
        transaction = self.transaction
        batch = self._registered(
            lambda: self._encoder.encode(events, transaction=transaction), closed
        )
        if batch is not None:
            self.transaction = batch.transaction_after(len(events))
        return batch

    def end(self, time: ClusterTime, closed: threading.Event) -> MongoBatch | None:
        """The end of the open transaction, when a token of this time shows that it is over."""
        open_one = self.transaction
        if open_one is None:
            return None
        batch = self._registered(
            lambda: self._encoder.end_transaction(open_one, (time.second, time.increment)), closed
        )
        if batch is None or not len(batch):
            return None
        self.transaction = None
        return batch

    def _registered(
        self, make: Callable[[], MongoBatch], closed: threading.Event
    ) -> MongoBatch | None:
        batch = make()
        while self._registration is not None and batch.unregistered:
            if not self._registration.wait(batch.unregistered, closed):
                return None
            batch = make()
        return batch
