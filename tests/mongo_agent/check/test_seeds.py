"""What stands behind a connection that does not come about."""

import pytest

from mongo_agent.seeds import Seed, wrong_server


@pytest.mark.parametrize(
    ("name", "hello", "part"),
    [
        ("rs0", {"setName": "rs0"}, None),
        (None, {"setName": "rs0"}, None),
        ("rs0", None, None),
        ("rs1", {"setName": "rs0"}, "is named rs0, and the configuration says rs1"),
        ("rs0", {"msg": "isdbgrid"}, "A mongos answers at a:1"),
        (None, {"msg": "isdbgrid"}, None),
        ("rs0", {"isreplicaset": True}, None),
        ("rs0", {"isWritablePrimary": True}, "`rs.initiate()`"),
        (None, {"isWritablePrimary": True}, "`rs.initiate()`"),
    ],
)
def test_a_server_that_is_not_the_one_that_is_named(
    name: str | None, hello: dict[str, object] | None, part: str | None
) -> None:
    sentence = wrong_server(name, [Seed("b:1", None), Seed("a:1", hello)])
    assert sentence is None if part is None else part in (sentence or "")
