"""Encoders of tables, made by the schema that is known."""

from agent.schema import SchemaHolder
from agent.snapshot.errors import PostponedTableError
from agent.snapshot.offsets import TableSnapshot
from commitlog import EventFormat, SchemaError, SnapshotEncoder, Unregistered
from sidecar.errors import UnavailableError
from sidecar.schema_registry import Registrar, RegistrationStatus


class SchemaEncoders:
    """By the agent's schema and the format of its events."""

    def __init__(
        self, holder: SchemaHolder, event_format: EventFormat, registrar: Registrar[Unregistered]
    ) -> None:
        self._holder = holder
        self._format = event_format
        self._registrar = registrar

    def encoder(
        self, copy: TableSnapshot, *, element_times: bool, is_refused: bool
    ) -> SnapshotEncoder | None:
        """None while the schema does not have the table. `is_refused`: the node did not take the
        last statement, so the schema is behind. Raises UnavailableError while a schema registry
        is away, PostponedTableError when it does not take the table's schemas, and RefusedError
        when it refuses us."""
        if is_refused:
            self._holder.refresh(f"the node does not take the statement for {copy.table}")
        encoder = self._made(copy, element_times)
        if encoder is None:
            self._holder.refresh(f"the snapshot of {copy.table} needs it")
            encoder = self._made(copy, element_times)
        if encoder is not None and (schemas := encoder.unregistered):
            self._register(schemas)
        return encoder

    def _register(self, schemas: list[Unregistered]) -> None:
        answer = self._registrar.register(schemas)
        if answer.status is RegistrationStatus.REGISTERED:
            return
        if (fatal := self._registrar.fatal) is not None:
            raise fatal
        if answer.status is RegistrationStatus.REJECTED:
            raise PostponedTableError(answer.error)
        raise UnavailableError(answer.error)

    def _made(self, copy: TableSnapshot, element_times: bool) -> SnapshotEncoder | None:
        schema = self._holder.latest()
        if schema is None:
            return None
        try:
            return SnapshotEncoder(
                schema,
                copy.table_id,
                self._format,
                element_times=element_times,
                started_us=copy.started_us,
            )
        except SchemaError:
            return None
