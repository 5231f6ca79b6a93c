"""What stands behind a connection that does not come about."""

import pytest

from mongo_agent.seeds import Seed, Wanted, wrong_server

ARBITER = {"setName": "rs0", "arbiterOnly": True}


@pytest.mark.parametrize(
    ("wanted", "hello", "part"),
    [
        (Wanted("rs0"), {"setName": "rs0"}, None),
        (Wanted(), {"setName": "rs0"}, None),
        (Wanted("rs0"), None, None),
        (Wanted("rs1"), {"setName": "rs0"}, "is named rs0, and the configuration says rs1"),
        (Wanted("rs0"), {"msg": "isdbgrid"}, "A mongos answers at a:1"),
        (Wanted(), {"msg": "isdbgrid"}, None),
        (Wanted("rs0"), {"isreplicaset": True}, None),
        (Wanted("rs0"), {"isWritablePrimary": True}, "`rs.initiate()`"),
        (Wanted(), {"isWritablePrimary": True}, "`rs.initiate()`"),
        (Wanted("rs0"), ARBITER, None),
        (Wanted("rs0", is_direct=True), ARBITER, "The member at a:1 is an arbiter"),
    ],
)
def test_a_server_that_is_not_the_one_that_is_named(
    wanted: Wanted, hello: dict[str, object] | None, part: str | None
) -> None:
    sentence = wrong_server(wanted, [Seed("b:1", None), Seed("a:1", hello)])
    assert sentence is None if part is None else part in (sentence or "")


@pytest.mark.parametrize(
    ("speaks_tls", "part"),
    [(True, "`mongodb.ssl.enabled=true`"), (False, "does not speak TLS"), (None, None)],
)
def test_a_server_that_speaks_otherwise(speaks_tls: bool | None, part: str | None) -> None:
    sentence = wrong_server(Wanted(), [Seed("a:1", None, speaks_tls)])
    assert sentence is None if part is None else part in (sentence or "")
