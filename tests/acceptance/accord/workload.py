"""Transactions and ordinary writes to tables of every transactional mode."""

import random
from collections.abc import Iterator

TABLES = (
    "CREATE TABLE bank.accounts (id int PRIMARY KEY, balance int, note text)",
    "CREATE TABLE bank.postings (account int, number int, amount int, tags set<text>, "
    "owner text static, PRIMARY KEY (account, number))",
    "CREATE TABLE bank.logs (id int PRIMARY KEY, lines list<text>, facts map<text, int>)",
)
ADDED_COLUMN = "ALTER TABLE bank.accounts ADD area text"
KEYS = 12


def schema(replicas: int) -> Iterator[str]:
    yield (
        "CREATE KEYSPACE bank WITH replication = "
        f"{{'class': 'SimpleStrategy', 'replication_factor': {replicas}}}"
    )
    for table, mode in zip(TABLES, ("full", "full", "mixed_reads"), strict=True):
        yield f"{table} WITH transactional_mode = '{mode}' AND cdc = true"


def statements(seed: int, count: int) -> Iterator[str]:
    """Random statements: several tables and partitions, conditions, deletions, collections."""
    numbers = random.Random(seed)
    for place in range(count):
        a, b = numbers.randrange(KEYS), numbers.randrange(KEYS)
        n, row = numbers.randrange(1000), numbers.randrange(5)
        match numbers.randrange(10):
            case 0:
                yield (
                    "BEGIN TRANSACTION "
                    f"INSERT INTO bank.accounts (id, balance, note) VALUES ({a}, {n}, 'n{place}'); "
                    f"INSERT INTO bank.postings (account, number, amount, owner) "
                    f"VALUES ({b}, {row}, {n}, 'o{place}'); "
                    "COMMIT TRANSACTION"
                )
            case 1:
                yield (
                    "BEGIN TRANSACTION "
                    f"LET account = (SELECT balance FROM bank.accounts WHERE id = {a}); "
                    f"IF account.balance > {n} THEN "
                    f"UPDATE bank.accounts SET balance -= 1 WHERE id = {a}; "
                    f"UPDATE bank.postings SET amount = account.balance "
                    f"WHERE account = {b} AND number = {row}; "
                    "END IF COMMIT TRANSACTION"
                )
            case 2:
                yield (
                    "BEGIN TRANSACTION "
                    f"DELETE FROM bank.postings WHERE account = {a} AND number = {row}; "
                    f"UPDATE bank.logs SET lines += ['l{place}'] WHERE id = {b}; "
                    "COMMIT TRANSACTION"
                )
            case 3:
                yield f"DELETE FROM bank.postings WHERE account = {a} AND number > {row}"
            case 4:
                yield f"DELETE FROM bank.postings WHERE account = {a}"
            case 5:
                yield (
                    f"UPDATE bank.postings SET tags = tags + {{'t{row}'}}, owner = 'u{place}' "
                    f"WHERE account = {a} AND number = {row}"
                )
            case 6:
                yield (
                    f"INSERT INTO bank.logs (id, lines, facts) "
                    f"VALUES ({a}, ['x', 'y'], {{'k{row}': {n}}}) USING TTL 100000"
                )
            case 7:
                yield f"UPDATE bank.logs SET facts['k{row}'] = {n} WHERE id = {a}"
            case 8:
                yield f"DELETE note FROM bank.accounts WHERE id = {a}"
            case _:
                yield (f"INSERT INTO bank.accounts (id, balance) VALUES ({a}, {n}) IF NOT EXISTS")


def last_write(key: int) -> str:
    """Row whose event proves that all earlier writes are delivered."""
    return f"INSERT INTO bank.accounts (id, balance) VALUES ({key}, 0)"
