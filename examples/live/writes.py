"""Statements of the live demo, one of every kind."""

SCHEMA = (
    "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
    "CREATE TABLE shop.orders (id int, line int, article text, quantity int, tags set<text>, "
    "status text STATIC, PRIMARY KEY (id, line)) WITH cdc = true",
    "CREATE TABLE shop.audit (day date, at timeuuid, what text, PRIMARY KEY (day, at)) "
    "WITH cdc = true",
    "CREATE TABLE shop.stock (article text PRIMARY KEY, quantity int)",
)

WRITES = (
    "INSERT INTO shop.orders (id, line, article, quantity) VALUES (7, 1, 'rope', 3)",
    "INSERT INTO shop.orders (id, line, article, quantity) VALUES (7, 2, 'lamp', 1) USING TTL 3600",
    "UPDATE shop.orders SET quantity = 5, tags = tags + {'gift'} WHERE id = 7 AND line = 1",
    "UPDATE shop.orders SET status = 'paid' WHERE id = 7",
    "BEGIN BATCH "
    "INSERT INTO shop.orders (id, line, article) VALUES (7, 3, 'tent'); "
    "INSERT INTO shop.audit (day, at, what) VALUES ('2026-01-31', now(), 'tent added'); "
    "UPDATE shop.stock SET quantity = 11 WHERE article = 'tent'; "
    "APPLY BATCH",
    "DELETE tags FROM shop.orders WHERE id = 7 AND line = 1",
    "DELETE FROM shop.orders WHERE id = 7 AND line = 2",
    "DELETE FROM shop.orders WHERE id = 7 AND line >= 3",
    "DELETE FROM shop.orders WHERE id = 7",
)

EVENTS = 10
"""One per statement, but two for the batch: `shop.stock` is not captured."""
