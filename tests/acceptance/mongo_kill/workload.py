"""Random writes, and the resulting history of every document."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from types import MappingProxyType
from typing import Any
from uuid import UUID

from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Timestamp
from bson.json_util import dumps
from pymongo.errors import PyMongoError

from tests.support.mongodb.server.client import Client

Document = dict[str, Any]
State = Document | None
"""Document, or None if deleted."""

DATABASE = "shop"
_TRIES = 200


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A document: its collection, and its `_id` as text that distinguishes values of all types."""

    collection: str
    id_text: str


@dataclass
class History:
    """States of a document, in order. Each state has the number of its write."""

    id: Any
    states: list[State] = field(default_factory=list)

    @property
    def last(self) -> State:
        return self.states[-1] if self.states else None


Maker = Callable[[int], Any]
"""`_id` for a number; different numbers yield different ids."""

TYPES: Mapping[str, Maker] = {
    "int": lambda number: number,
    "long": lambda number: Int64(number + 2**40),
    "double": lambda number: number + 0.5,
    "string": lambda number: f"id {number}é",
    "objectid": lambda number: ObjectId(f"{number:024x}"),
    "document": lambda number: {"part": number, "of": "two"},
    "binary": lambda number: number.to_bytes(4, "big"),
    "uuid": lambda number: Binary.from_uuid(UUID(int=number)),
    "date": lambda number: datetime.fromtimestamp(number * 86_400, UTC).replace(tzinfo=None),
    "decimal": lambda number: Decimal128(f"{number}.25"),
    "timestamp": lambda number: Timestamp(number + 1, 1),
}
"""Every type that servers accept and that has enough values."""

# The other types have only a few values.
_FEW: tuple[Maker, ...] = (
    lambda number: bool(number % 2) if number < 26 else f"late {number}",
    lambda number: MinKey() if number < 26 else (MaxKey() if number < 39 else -number),
)


def ids() -> Iterator[Maker]:
    """Makers of every type in turn."""
    return itertools.cycle([*TYPES.values(), *_FEW])


class Workload:
    """Writes to the collections of one database; not thread-safe."""

    def __init__(
        self,
        client: Client,
        random: Random,
        collections: tuple[str, ...],
        makers: Mapping[str, Maker] = MappingProxyType({}),
        *,
        database: str = DATABASE,
        has_images: bool = True,
    ) -> None:
        """`makers` belong to collections with `_id`s of one type; other collections mix them. A
        server without images reports no state after an update, so documents are replaced there."""
        self._client = client
        self._of_one_type = makers
        self._random = random
        self.collections = collections
        self._database = client[database]
        self._has_images = has_images
        self._makers = ids()
        self._numbers = itertools.count()
        self.histories: dict[Place, History] = {}
        self._by_collection: dict[str, list[Place]] = defaultdict(list)
        self.operations = 0

    def create(self) -> None:
        """Create the collections, with post-images."""
        for name in self.collections:
            options: Any = {}
            if self._has_images:
                options["changeStreamPreAndPostImages"] = {"enabled": True}
            self._database.create_collection(name, **options)

    def fill(self, documents: int) -> None:
        """Insert documents before all other writes."""
        for _ in range(documents):
            self._insert_new()

    def write(self, operations: int) -> None:
        """Make random changes; some of them together in a transaction."""
        for _ in range(operations):
            if self._random.random() < 0.08:
                self._transact()
            else:
                self._change()
            self.operations += 1

    def _change(self) -> None:
        kind = self._random.random()
        if kind < 0.25 or not self.histories:
            self._insert_new()
            return
        place = self._random.choice(self._by_collection[self._random.choice(self.collections)])
        self._apply(place, self._next_state(place))

    def _insert_new(self) -> None:
        collection = self._random.choice(self.collections)
        make = self._of_one_type.get(collection) or next(self._makers)
        identity = make(next(self._numbers))
        place = Place(collection, dumps(identity))
        if place not in self.histories:
            self.histories[place] = History(identity)
            self._by_collection[collection].append(place)
        self._apply(place, self._next_state(place, may_delete=False))

    def _next_state(self, place: Place, *, may_delete: bool = True) -> State:
        history = self.histories[place]
        if may_delete and history.last is not None and self._random.random() < 0.2:
            return None
        number = len(history.states)
        text = "".join(self._random.choices("abcé\u4e2d\U0001f600", k=self._random.randrange(40)))
        return {"_id": history.id, "version": number, "text": text, "list": list(range(number % 5))}

    def _apply(self, place: Place, state: State) -> None:
        """Apply the write exactly once: a failure may come before or after the write."""
        for attempt in range(_TRIES):
            try:
                self._put(place, state, None)
                break
            except PyMongoError:
                if attempt == _TRIES - 1:
                    raise
                if self._is_there(place, state):
                    break
        self.histories[place].states.append(state)

    def _is_there(self, place: Place, state: State) -> bool:
        """Whether the write succeeded; queries until a server answers."""
        for attempt in range(_TRIES):
            try:
                found = self._database[place.collection].find_one({"_id": self.histories[place].id})
            except PyMongoError:
                if attempt == _TRIES - 1:
                    raise
                continue
            return found == state
        return False

    def _put(self, place: Place, state: State, session: Any) -> None:
        collection = self._database[place.collection]
        last = self.histories[place].last
        key = {"_id": self.histories[place].id}
        if state is None:
            collection.delete_one(key, session=session)
        elif last is None:
            collection.insert_one(state, session=session)
        elif not self._has_images or self._random.random() < 0.3:
            collection.replace_one(key, state, session=session)
        else:
            change = {name: value for name, value in state.items() if name != "_id"}
            collection.update_one(key, {"$set": change}, session=session)

    def _transact(self) -> None:
        """Change several different documents at once."""
        count = self._random.randint(2, 5)
        places = self._random.sample([*self.histories], min(count, len(self.histories)))
        wanted = [(place, self._next_state(place)) for place in places]
        for attempt in range(_TRIES):
            try:
                with self._client.start_session() as session, session.start_transaction():
                    for place, state in wanted:
                        self._put(place, state, session)
                break
            except PyMongoError:
                if attempt == _TRIES - 1:
                    raise
                if wanted and self._is_there(*wanted[0]):
                    break
        for place, state in wanted:
            self.histories[place].states.append(state)
