"""Schema ids in use match the registry, even after the registry lost its schemas."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from hypothesis import given
from hypothesis import strategies as st

from sidecar.errors import UnavailableError
from sidecar.health.condition import State
from sidecar.schema_registry.client import SchemaRejectedError
from sidecar.schema_registry.registrar import Registrar, Subjects
from sidecar.schema_registry.settings import Strategy
from sidecar.status.facts import ServiceFacts, unregistered


@dataclass(frozen=True)
class Named:
    topic: str
    side: Literal["key", "value"]

    @property
    def record(self) -> str:
        return self.topic

    @property
    def schema(self) -> str:
        return f"{self.topic} {self.side}"


@dataclass
class Ids:
    """Stand-in for `sidecar.encoding.SchemaIds`."""

    known: dict[Named, int] = field(default_factory=dict)

    def get(self, schema: Named) -> int | None:
        return self.known.get(schema)

    def set(self, schema: Named, id: int) -> None:
        self.known[schema] = id

    def forget_all(self) -> None:
        self.known.clear()


@dataclass
class Registry:
    schemas: dict[int, str] = field(default_factory=dict)
    next_id: int = 1
    is_away: bool = False
    answers_ids: bool = True
    rejects: bool = False

    def schema_id(self, subject: str, schema: str) -> int:
        self._require_answer()
        for number, known in self.schemas.items():
            if known == schema:
                return number
        if self.rejects:
            raise SchemaRejectedError(f"the schema registry rejects the schema of {subject}")
        self.schemas[self.next_id] = schema
        self.next_id += 1
        return self.next_id - 1

    def has_schema(self, number: int, schema: str) -> bool:
        self._require_answer()
        return self.answers_ids and self.schemas.get(number) == schema

    def wipe(self, others: int) -> None:
        """Delete all schemas and assign the first ids to other schemas."""
        self.schemas = {number: f"other {number}" for number in range(1, others + 1)}
        self.next_id = others + 1

    def _require_answer(self) -> None:
        if self.is_away:
            raise UnavailableError("the schema registry is unavailable")


SCHEMAS: list[Any] = [Named(topic, side) for topic in "abc" for side in ("key", "value")]


def registrar_of(registry: Registry, ids: Ids) -> Registrar:
    subjects = Subjects(cast(Any, registry), Strategy.TOPIC)
    return Registrar(cast(Any, ids), {"key": subjects, "value": subjects})


@given(
    used=st.lists(st.sampled_from(SCHEMAS), min_size=1, unique=True),
    before=st.integers(0, 3),
    steps=st.lists(
        st.one_of(
            st.integers(0, 8).map(lambda others: ("wipe", others)),
            st.sampled_from([("delete", 0), ("away", 0), ("back", 0), ("nothing", 0)]),
        ),
        max_size=5,
    ),
)
def test_ids_in_use_match_registry_after_each_verification(
    used: list[Any], before: int, steps: Sequence[tuple[str, int]]
) -> None:
    registry, ids = Registry(), Ids()
    registry.wipe(before)
    registrar = registrar_of(registry, ids)
    registrar.register(used)
    has_changed = False
    for step, others in steps:
        match step:
            case "wipe":
                registry.wipe(others)
            case "delete":
                registry.schemas = {
                    number: text for number, text in registry.schemas.items() if number % 2
                }
            case "away" | "back":
                registry.is_away = step == "away"
        valid = all(registry.schemas.get(ids.known[s]) == s.schema for s in ids.known)
        try:
            registrar.verify()
        except UnavailableError:
            assert registry.is_away
            continue
        if registry.is_away:
            continue
        has_changed |= not valid
        assert {s: registry.schemas[number] for s, number in ids.known.items()} == {
            s: s.schema for s in used
        }
        assert (registrar.changed_ids is not None) == has_changed
        assert registrar.registered == len(used)


def test_registry_without_id_lookup_changes_no_ids() -> None:
    registry, ids = Registry(answers_ids=False), Ids()
    registrar = registrar_of(registry, ids)
    registrar.register(SCHEMAS)
    known = dict(ids.known)
    registrar.verify()
    assert (registrar.changed_ids, ids.known) == (None, known)


def test_registrar_is_failing_until_all_schemas_are_reregistered() -> None:
    registry, ids = Registry(), Ids()
    registrar = registrar_of(registry, ids)
    registrar.register(SCHEMAS)
    registry.wipe(20)
    registry.rejects = True
    registrar.verify()
    assert ids.known == {}, "an id of another schema would be sent"
    assert _states(registrar) == [State.FAILING, State.DEGRADED]
    registry.rejects = False
    assert registrar.try_register(SCHEMAS)
    assert _states(registrar) == [State.DEGRADED]
    changed = registrar.changed_ids
    assert changed is not None
    assert changed.is_resolved
    assert "for the id 1 of a-key." in changed.message


def _states(registrar: Registrar) -> list[State]:
    facts = ServiceFacts(registry_error=registrar.error, changed_ids=registrar.changed_ids)
    return [condition.state for condition in unregistered(facts)]
