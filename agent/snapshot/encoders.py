"""Creates table encoders from the current schema."""

from dataclasses import dataclass

from agent.schema import SchemaHolder
from agent.snapshot.errors import PostponedTableError
from agent.snapshot.offsets import TableSnapshot
from commitlog import EventFormat, SchemaError, SnapshotEncoder
from sidecar.encoding import Unregistered
from sidecar.errors import UnavailableError
from sidecar.schema_registry.registrar import Registrar, RegistrationStatus


@dataclass(frozen=True, slots=True)
class SchemaEncoders:
    """Creates encoders with the schema and the event format of the agent."""

    holder: SchemaHolder
    event_format: EventFormat
    registrar: Registrar

    def encoder(
        self, table: TableSnapshot, *, element_times: bool, was_rejected: bool
    ) -> SnapshotEncoder | None:
        """Creates an encoder; returns None if the schema does not contain the table.
        `was_rejected`: the node rejected the latest statement, so the schema is outdated.

        Raises UnavailableError if the schema registry is unavailable, PostponedTableError if it
        rejects the schemas of the table, and AccessDeniedError if it denies access.
        """
        if was_rejected:
            self.holder.refresh(f"the node rejects the statement for {table.table}")
        encoder = self._create(table, element_times)
        if encoder is None:
            self.holder.refresh(f"the snapshot needs {table.table}")
            encoder = self._create(table, element_times)
        if encoder is not None and (schemas := encoder.unregistered):
            self._register(schemas)
        return encoder

    def _register(self, schemas: list[Unregistered]) -> None:
        answer = self.registrar.register(schemas)
        if answer.status is RegistrationStatus.REGISTERED:
            return
        if (fatal := self.registrar.fatal) is not None:
            raise fatal
        if answer.status is RegistrationStatus.REJECTED:
            raise PostponedTableError(answer.error)
        raise UnavailableError(answer.error)

    def _create(self, table: TableSnapshot, element_times: bool) -> SnapshotEncoder | None:
        schema = self.holder.latest()
        if schema is None:
            return None
        try:
            return SnapshotEncoder(
                schema,
                table.table_id,
                self.event_format,
                element_times=element_times,
                started_us=table.started_us,
            )
        except SchemaError:
            return None
