"""A little web shop: what the quickstart's recorded node was busy with.

Users sign up and look around, fill carts, order, cancel; products change; sessions expire; someone
wants to be forgotten. Every kind of write that a change event can come from is among it.
"""

import random
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from tests.support.workloads.literals import text_literal
from tests.support.workloads.scenario import batch, create_keyspace

KEYSPACE = "shop"
PAGE_VIEW_BYTES = 120_000

SCHEMA = (
    create_keyspace(KEYSPACE),
    "CREATE TYPE shop.address (street text, city text, postcode text)",
    "CREATE TABLE shop.users (id uuid PRIMARY KEY, email text, name text, address address, "
    "interests set<text>, preferences map<text, text>, signed_up timestamp, newsletter boolean) "
    "WITH comment = 'Customers' AND cdc = true",
    "CREATE TABLE shop.products (sku text PRIMARY KEY, title text, price decimal, stock int, "
    "attributes map<text, text>, pictures list<text>, rating float) WITH cdc = true",
    "CREATE TABLE shop.carts (user_id uuid, sku text, quantity int, note text, "
    "coupon text STATIC, PRIMARY KEY (user_id, sku)) WITH cdc = true",
    "CREATE TABLE shop.orders (user_id uuid, ordered timestamp, line int, sku text, quantity int, "
    "price decimal, ship_to frozen<address> STATIC, status text, "
    "PRIMARY KEY (user_id, ordered, line)) "
    "WITH CLUSTERING ORDER BY (ordered DESC, line ASC) AND cdc = true",
    "CREATE TABLE shop.sessions (id uuid PRIMARY KEY, user_id uuid, address inet, "
    "seen timestamp, pages list<text>) WITH default_time_to_live = 1209600 AND cdc = true",
    "CREATE TABLE shop.page_views (day date, path text, at timeuuid, html text, "
    "PRIMARY KEY ((day, path), at))",
)
"""`page_views` is not captured; its rows are large and fill the segments."""

PAGE_VIEW = "INSERT INTO shop.page_views (day, path, at, html) VALUES ('2026-03-14', %s, now(), %s)"

_NAMES = ("Ada", "Björn", "Chidi", "Dilnoza", "Eeva", "Farid", "Grażyna", "Hiro", "Inés", "Jiří")
_CITIES = (("Bergen", "5003"), ("Kraków", "30-001"), ("Osaka", "530-0001"), ("Quito", "170102"))
_GOODS = ("rope", "lamp", "tent", "stove", "map", "compass", "kettle", "boots", "axe", "hammock")
_INTERESTS = ("climbing", "cooking", "fishing", "hiking", "sailing")
_START_MS = 1_773_480_000_000


@dataclass(slots=True)
class _User:
    id: uuid.UUID
    name: str
    orders: list[int]
    """Times of the orders, milliseconds."""


def page_view(number: int) -> tuple[str, str]:
    """Path and page of one large row for `PAGE_VIEW`."""
    goods = _GOODS[number % len(_GOODS)]
    page = f"<li><a href='/goods/{goods}'>{goods}</a></li>\n"
    return f"/goods/{goods}", page * (PAGE_VIEW_BYTES // len(page))


def statements(seed: int = 7) -> list[str]:
    """A few hundred writes."""
    rng = random.Random(f"shop {seed}")
    users: list[_User] = []
    found = list(_assortment(rng))
    for day in range(24):
        found += _sign_up(rng, users)
        for user in rng.sample(users, min(3, len(users))):
            found += _visit(rng, user, _START_MS + day * 86_400_000 + rng.randrange(80_000_000))
        found += _upkeep(rng)
    found += _forget(users[2])
    found += _retention(users[5])
    return found


def _assortment(rng: random.Random) -> Iterator[str]:
    for goods in _GOODS:
        yield (
            "INSERT INTO shop.products (sku, title, price, stock, attributes, pictures, rating) "
            f"VALUES ('{goods}', {text_literal('A good ' + goods)}, {rng.randrange(5, 300)}.95, "
            f"{rng.randrange(5, 80)}, {{'colour': 'green', 'weight': '{rng.randrange(9)} kg'}}, "
            f"['{goods}-front.jpg', '{goods}-back.jpg'], {rng.randrange(10, 50) / 10})"
        )


def _sign_up(rng: random.Random, users: list[_User]) -> Iterator[str]:
    if len(users) == len(_NAMES):
        return
    name = _NAMES[len(users)]
    user = _User(uuid.UUID(int=rng.getrandbits(128), version=4), name, [])
    users.append(user)
    city, postcode = rng.choice(_CITIES)
    interests = ", ".join(f"'{each}'" for each in sorted(rng.sample(_INTERESTS, 2)))
    yield (
        "INSERT INTO shop.users (id, email, name, address, interests, preferences, signed_up, "
        f"newsletter) VALUES ({user.id}, '{name.lower()}@example.org', '{name}', "
        f"{{street: 'Harbour Road {rng.randrange(1, 99)}', city: '{city}', "
        f"postcode: '{postcode}'}}, {{{interests}}}, {{'language': 'en', 'theme': 'light'}}, "
        f"{_START_MS}, true) IF NOT EXISTS"
    )
    if rng.random() < 0.5:
        street = f"Hill {rng.randrange(9)}"
        yield f"UPDATE shop.users SET address.street = '{street}' WHERE id = {user.id}"
    if rng.random() < 0.5:
        yield (
            f"UPDATE shop.users SET interests = interests + {{'{rng.choice(_INTERESTS)}'}}, "
            f"preferences['theme'] = 'dark' WHERE id = {user.id}"
        )
    if rng.random() < 0.4:
        yield f"DELETE newsletter, preferences['language'] FROM shop.users WHERE id = {user.id}"


def _visit(rng: random.Random, user: _User, now_ms: int) -> Iterator[str]:
    session = uuid.UUID(int=rng.getrandbits(128), version=4)
    yield (
        "INSERT INTO shop.sessions (id, user_id, address, seen, pages) VALUES "
        f"({session}, {user.id}, '198.51.100.{rng.randrange(256)}', {now_ms}, ['/'])"
    )
    wanted = rng.sample(_GOODS, rng.randrange(1, 4))
    for goods in wanted:
        yield f"UPDATE shop.sessions SET pages = pages + ['/goods/{goods}'] WHERE id = {session}"
        yield (
            f"INSERT INTO shop.carts (user_id, sku, quantity) VALUES ({user.id}, '{goods}', 1)"
            + (" USING TTL 604800" if rng.random() < 0.3 else "")
        )
    row = f"user_id = {user.id} AND sku = '{wanted[0]}'"
    if rng.random() < 0.4:
        yield f"UPDATE shop.carts SET quantity = {rng.randrange(2, 9)} WHERE {row}"
    if rng.random() < 0.3:
        yield f"UPDATE shop.carts SET coupon = 'SPRING' WHERE user_id = {user.id}"
    if rng.random() < 0.2:
        yield f"UPDATE shop.carts SET note = 'a present', quantity = null WHERE {row}"
    if rng.random() < 0.2:
        yield f"DELETE FROM shop.carts WHERE {row}"
    if rng.random() < 0.6:
        yield from _order(rng, user, wanted, now_ms)
    if rng.random() < 0.3:
        yield f"DELETE FROM shop.sessions WHERE id = {session}"


def _order(rng: random.Random, user: _User, wanted: list[str], now_ms: int) -> Iterator[str]:
    user.orders.append(now_ms)
    lines = [
        "INSERT INTO shop.orders (user_id, ordered, line, sku, quantity, price, status) VALUES "
        f"({user.id}, {now_ms}, {line}, '{goods}', {rng.randrange(1, 4)}, "
        f"{rng.randrange(5, 300)}.95, 'placed') USING TIMESTAMP {now_ms * 1000}"
        for line, goods in enumerate(wanted, 1)
    ]
    city, postcode = rng.choice(_CITIES)
    yield batch(
        *lines,
        f"UPDATE shop.orders SET ship_to = {{street: 'Harbour Road 1', city: '{city}', "
        f"postcode: '{postcode}'}} WHERE user_id = {user.id}",
        f"DELETE FROM shop.carts WHERE user_id = {user.id}",
    )
    for goods in wanted:
        stock = rng.randrange(60)
        yield f"UPDATE shop.products SET stock = {stock} WHERE sku = '{goods}'"
    order = f"user_id = {user.id} AND ordered = {now_ms}"
    if rng.random() < 0.5:
        yield batch(
            *(
                f"UPDATE shop.orders SET status = 'sent' WHERE {order} AND line = {line}"
                for line in range(1, len(wanted) + 1)
            ),
            kind="UNLOGGED",
        )
    elif rng.random() < 0.5:
        yield f"DELETE FROM shop.orders WHERE {order}"
    elif len(wanted) > 1:
        # The customer thinks again: the first line goes, and comes back with another quantity.
        deleted_us, now_us = now_ms * 1000 + 1, now_ms * 1000 + 2
        replaced = (
            lines[0].replace("'placed'", "'changed'").replace(f"{now_ms * 1000}", f"{now_us}")
        )
        yield batch(
            f"DELETE FROM shop.orders USING TIMESTAMP {deleted_us} WHERE {order} AND line = 1",
            replaced,
        )


def _upkeep(rng: random.Random) -> Iterator[str]:
    goods = rng.choice(_GOODS)
    yield rng.choice(
        (
            f"UPDATE shop.products SET price = {rng.randrange(5, 300)}.49 WHERE sku = '{goods}'",
            f"UPDATE shop.products SET pictures = ['{goods}-new.jpg'] + pictures "
            f"WHERE sku = '{goods}'",
            f"DELETE attributes['colour'] FROM shop.products WHERE sku = '{goods}'",
            f"UPDATE shop.products SET attributes = {{'colour': 'red'}}, rating = 4.5 "
            f"WHERE sku = '{goods}'",
            f"UPDATE shop.products USING TTL 86400 SET title = 'On sale: {goods}' "
            f"WHERE sku = '{goods}'",
            f"UPDATE shop.products SET stock = 0 WHERE sku = '{goods}' IF EXISTS",
        )
    )


def _forget(user: _User) -> Iterator[str]:
    """Somebody wants all data deleted."""
    yield batch(
        f"DELETE FROM shop.users WHERE id = {user.id}",
        f"DELETE FROM shop.carts WHERE user_id = {user.id}",
        f"DELETE FROM shop.orders WHERE user_id = {user.id}",
    )


def _retention(user: _User) -> Iterator[str]:
    """Old orders go, and those in dispute a little later: two ranges that meet."""
    old_ms, later_ms = _START_MS + 7 * 86_400_000, _START_MS + 14 * 86_400_000
    yield f"DELETE FROM shop.orders WHERE user_id = {user.id} AND ordered < {old_ms}"
    yield batch(
        f"DELETE FROM shop.orders USING TIMESTAMP {later_ms * 1000} "
        f"WHERE user_id = {user.id} AND ordered < {old_ms}",
        f"DELETE FROM shop.orders USING TIMESTAMP {later_ms * 1000 + 1} "
        f"WHERE user_id = {user.id} AND ordered >= {old_ms} AND ordered < {later_ms}",
    )
    yield f"DELETE ship_to FROM shop.orders WHERE user_id = {user.id}"
