"""Events of a stream as messages, with the transaction that goes over the replies of the server."""

from commitlog.mongo import MongoBatch, MongoEncoder, MongoTransaction
from mongo_agent.change_stream.events import RawEvents
from mongo_agent.change_stream.tokens import ClusterTime


class Encoding:
    """Used by the reader's thread alone. `transaction` is the one that is open where it begins."""

    def __init__(self, encoder: MongoEncoder, transaction: MongoTransaction | None) -> None:
        self._encoder = encoder
        self.transaction = transaction

    def encode(self, events: RawEvents) -> MongoBatch:
        batch = self._encoder.encode(events, transaction=self.transaction)
        self.transaction = batch.transaction_after(len(events))
        return batch

    def end(self, time: ClusterTime) -> MongoBatch | None:
        """The end of the open transaction, when a token of this time shows that it is over."""
        if self.transaction is None:
            return None
        batch = self._encoder.end_transaction(self.transaction, (time.second, time.increment))
        if not len(batch):
            return None
        self.transaction = None
        return batch
