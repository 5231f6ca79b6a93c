"""Statements on a session."""

from collections import Counter
from typing import Any

from cassandra import InvalidRequest
from cassandra.query import BatchStatement, BatchType

from tests.merge.workload.statements import Statement, Write

_BATCH_TYPES = {"logged": BatchType.LOGGED, "unlogged": BatchType.UNLOGGED}


class Execution:
    """Runs statements on one session, prepared once for each text.

    `accepted` and `refused` count statements by kind; refused are those alone that may be.
    """

    def __init__(self, session: Any) -> None:
        self.accepted: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._session = session
        self._prepared: dict[str, Any] = {}

    def use(self, session: Any) -> None:
        """Go on with another session, of a node that was started again."""
        self._session = session
        self._prepared.clear()

    def run(self, statement: Statement) -> None:
        """Execute; errors other than a refusal that may be are raised."""
        try:
            self._session.execute(self._bound(statement))
        except InvalidRequest:
            if not statement.may_be_refused:
                raise
            self.refused[statement.kind] += 1
        else:
            self.accepted[statement.kind] += 1

    def _bound(self, statement: Statement) -> Any:
        if statement.batch is None:
            return self._bound_write(statement.writes[0])
        batch = BatchStatement(_BATCH_TYPES[statement.batch])
        for write in statement.writes:
            batch.add(self._bound_write(write))
        return batch

    def _bound_write(self, write: Write) -> Any:
        prepared = self._prepared.get(write.text)
        if prepared is None:
            prepared = self._prepared[write.text] = self._session.prepare(write.text)
        return prepared.bind(write.values)
