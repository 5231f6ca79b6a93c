"""Random writes to hostile collections, and what a reader of the server sees of them."""

import contextlib
from collections.abc import Callable
from typing import Any

from bson import CodecOptions, decode, encode
from bson.codec_options import DatetimeConversion
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from tests.support.mongodb.server.key_string import order
from tests.support.strangers import bson_values
from tests.support.strangers.chance import Chance, cut

CODEC = CodecOptions[dict[str, Any]](datetime_conversion=DatetimeConversion.DATETIME_MS)
_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
_DATABASE_BYTES = 63
_NAMESPACE_BYTES = 255
_IN_DATABASES = '/\\. "$*<>:|?\0'
_IN_COLLECTIONS = "$\0"
_INTERNAL = ("admin", "config", "local")

Place = tuple[str, str]
"""A database and a collection."""


class MongoSource:
    """Collections with documents out of one pool of `_id`s; collections of a round share it."""

    def __init__(self, chance: Chance, client: MongoClient[Any], *, is_sharded: bool) -> None:
        self._chance = chance
        self._client = client
        self._is_sharded = is_sharded
        found = (bson_values.identity(chance) for _ in range(4 * chance.size(4, 60)))
        # A replacement by an equal `_id` of another number type would change the key.
        self._ids = list({order(each): each for each in found}.values())
        if chance.flag(0.5):
            # For collections of many chunks.
            self._ids += [chance.text(12) for _ in range(chance.size(1, 2000))]
        self.places: list[Place] = []
        self.renamed: set[Place] = set()
        # Servers before 6.0.9 send no event in parts, so the agent ends with one over the limit.
        room = (1 << 20) * client.server_info()["version"].startswith("5.")
        self._largest_bytes = int(client.admin.command("hello")["maxBsonObjectSize"]) - room

    def create(self, most: int = 50) -> str:
        """Another collection with documents, at times one that resembles another."""
        place = database, name = self._name()
        admin, full = self._client.admin, f"{database}.{name}"
        # Servers reject databases that differ in case alone.
        others = {each.lower(): each for each, _ in self.places}
        is_free = place not in self.places and others.get(database.lower()) in (None, database)
        if not is_free or not self._done(lambda: self._client[database].command("create", name)):
            return "no collection"
        self.places.append(place)
        if self._is_sharded and self._chance.flag(0.8):
            key = {self._chance.choice(("_id", "spread")): 1}
            self._done(lambda: admin.command("shardCollection", full, key=key))
        count = min(self._chance.size(1, most), len(self._ids))
        documents = [self._document(each) for each in self._chance.sample(self._ids, count)]
        self._command(place, "insert", documents=documents, ordered=False)
        return f"create {place} with {count} documents"

    def write(self, most: int) -> str:
        """Changes of any documents."""
        count = self._chance.size(1, most)
        for _ in range(count):
            self._change(self._chance.choice(self.places))
        return f"write {count}"

    def write_large(self) -> str:
        """One document of any size up to the largest."""
        place = self._chance.choice(self.places)
        size = self._chance.extent(self._largest_bytes, 1 << 20)
        document = self._document(self._chance.popular(self._ids))
        used = len(encode({**document, "large": b""}, codec_options=CODEC)) + 64
        document["large"] = bson_values.payload(self._chance, max(size - used, 1))
        self._replace(place, document)
        return f"a document of {size:,} bytes in {place}"

    def transact(self) -> str:
        """Several changes at one cluster time."""
        with (
            contextlib.suppress(PyMongoError),
            self._client.start_session() as session,
            session.start_transaction(),
        ):
            for _ in range(self._chance.size(1, 12)):
                self._change(self._chance.choice(self.places), session)
        return "a transaction"

    def rename(self) -> str:
        """A collection under another name, over another collection too."""
        old = self._chance.choice(self.places)
        new = self._chance.choice(self.places) if self._chance.flag(0.5) else self._name(old[0])
        names = [".".join(each) for each in (old, new)]
        if new == old or self._is_sharded or new[0] != old[0]:
            return "no collection to rename"
        rename = {"renameCollection": names[0], "to": names[1], "dropTarget": True}
        if self._done(lambda: self._client.admin.command(rename)):
            self.renamed |= {old, new}
            self.places = [each for each in self.places if each not in (old, new)] + [new]
        return f"rename {old} to {new}"

    def drop(self, place: Place | None = None) -> str:
        place = place or self._chance.choice(self.places)
        self._command(place, "drop")
        self.renamed.add(place)
        if len(self.places) > 1:
            self.places.remove(place)
        return f"drop {place}"

    def seen(self) -> dict[tuple[str, str], bytes]:
        """All documents as they are read, by collection and `_id`."""
        found = {}
        for database in self._client.list_database_names():
            if database in _INTERNAL:
                continue
            raw = self._client.get_database(database, codec_options=_RAW)
            for name in self._client[database].list_collection_names():
                for document in raw.cursor_command({"find": name}, codec_options=_RAW):
                    whole = bytes(document.raw)
                    found[f"{database}.{name}", identity_text(decode(whole, CODEC)["_id"])] = whole
        return found

    def _change(self, place: Place, session: Any = None) -> None:
        chance, identity = self._chance, self._chance.popular(self._ids)
        draw = chance.randrange(5)
        if draw == 0:
            deletes = [{"q": {"_id": identity}, "limit": 1}]
            self._command(place, "delete", session, deletes=deletes)
        elif draw == 1:
            name = bson_values.field_name(chance)
            change = {"$set": {name if name not in ("", "_id") else "v": bson_values.value(chance)}}
            updates = [{"q": {"_id": identity}, "u": change}]
            self._command(place, "update", session, updates=updates)
        else:
            self._replace(place, self._document(identity), session)

    def _replace(self, place: Place, document: dict[str, Any], session: Any = None) -> None:
        update = {"q": {"_id": document["_id"]}, "u": document, "upsert": True}
        self._command(place, "update", session, updates=[update])

    def _document(self, identity: Any) -> dict[str, Any]:
        # A shard key does not change, so it follows from the `_id`.
        spread = sum(encode({"": identity}, codec_options=CODEC))
        return {"_id": identity, "spread": spread, **bson_values.fields(self._chance)}

    def _command(self, place: Place, command: str, session: Any = None, **options: Any) -> None:
        database, body = self._client[place[0]], {command: place[1], **options}
        self._done(lambda: database.command(body, session=session, codec_options=CODEC))

    def _done(self, write: Callable[[], Any]) -> bool:
        """Whether the server took it; one that it rejects is no write of the round."""
        with contextlib.suppress(PyMongoError):
            write()
            return True
        return False

    def _name(self, database: str | None = None) -> Place:
        chance = self._chance
        if self.places and chance.flag(0.4):
            known, name = chance.choice(self.places)
            most = _NAMESPACE_BYTES - 1 - len(known.encode())
            return known, cut(chance.twin(name, _IN_COLLECTIONS), most) or name
        if database is None and self.places and chance.flag(0.5):
            database = chance.choice(self.places)[0]
        if database is None:
            text = chance.text(chance.extent(_DATABASE_BYTES), _IN_DATABASES, _DATABASE_BYTES)
            database = text if text not in ("", *_INTERNAL) else "d"
        most = _NAMESPACE_BYTES - 1 - len(database.encode())
        return database, chance.text(chance.extent(most), _IN_COLLECTIONS, most) or "c"


def identity_text(identity: Any) -> str:
    """An `_id` of any type as text that tells types apart."""
    return encode({"": identity}, codec_options=CODEC).hex()
