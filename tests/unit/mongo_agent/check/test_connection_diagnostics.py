"""The cause of a failed connection."""

import pytest

from mongo_agent.check.connection_diagnostics import ExpectedServer, SeedAnswer, mismatch

ARBITER = {"setName": "rs0", "arbiterOnly": True}


@pytest.mark.parametrize(
    ("wanted", "hello", "part"),
    [
        (ExpectedServer("rs0"), {"setName": "rs0"}, None),
        (ExpectedServer(), {"setName": "rs0"}, None),
        (ExpectedServer("rs0"), None, None),
        (
            ExpectedServer("rs1"),
            {"setName": "rs0"},
            "is rs0, but the configuration specifies rs1",
        ),
        (ExpectedServer("rs0"), {"msg": "isdbgrid"}, "A mongos answers at a:1"),
        (ExpectedServer(), {"msg": "isdbgrid"}, None),
        (ExpectedServer("rs0"), {"isreplicaset": True}, None),
        (ExpectedServer("rs0"), {"isWritablePrimary": True}, "`rs.initiate()`"),
        (ExpectedServer(), {"isWritablePrimary": True}, "`rs.initiate()`"),
        (ExpectedServer("rs0"), ARBITER, None),
        (ExpectedServer("rs0", is_direct=True), ARBITER, "The member at a:1 is an arbiter"),
    ],
)
def test_unexpected_server_is_reported(
    wanted: ExpectedServer, hello: dict[str, object] | None, part: str | None
) -> None:
    sentence = mismatch(wanted, SeedAnswer("a:1", hello))
    assert sentence is None if part is None else part in (sentence or "")


@pytest.mark.parametrize(
    ("speaks_tls", "part"),
    [(True, "`mongodb.ssl.enabled=true`"), (False, "does not use TLS"), (None, None)],
)
def test_tls_mismatch_of_server_is_reported(speaks_tls: bool | None, part: str | None) -> None:
    sentence = mismatch(ExpectedServer(), SeedAnswer("a:1", None, speaks_tls))
    assert sentence is None if part is None else part in (sentence or "")
