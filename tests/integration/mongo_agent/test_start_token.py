"""`capture.start.token`: the agent starts after a token that another tool stored."""

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import bson
import pytest
from bson import json_util
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mongo_agent.capture.namespaces import Scope
from mongo_agent.change_stream.cursor import StreamCursor, StreamFailedError, StreamSource
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.position import Opening
from mongo_agent.change_stream.start_token import verify_start_token
from mongo_agent.change_stream.tokens import read_token, token_from_json
from mongo_agent.check.offsets import check_offsets
from mongo_agent.server.deployment import discover
from mongo_agent.server.errors import Failure
from sidecar.check.check import Finding
from sidecar.errors import ConfigError
from tests.support.mongodb.agent_command import mongo_agent
from tests.support.mongodb.running_agent import RunAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client

Token = Mapping[str, Any]

FORMS: Mapping[str, Callable[[Token], str]] = {
    "data": lambda token: token["_data"].lower(),
    "json": json_util.dumps,
    "base64 of BSON": lambda token: base64.b64encode(bson.encode(token)).decode(),
}


def tokens(writer: Client, count: int) -> list[Token]:
    """Insert this number of documents; returns the token of each in a stream of the deployment."""
    with writer.watch() as stream:
        writer.shop.a.insert_many([{"_id": number} for number in range(count)])
        return [stream.next()["_id"] for _ in range(count)]


def findings(agent: Any, writer: Client) -> list[Finding]:
    config = agent.configuration()
    return [
        each
        for each in check_offsets(writer, config, discover(writer), config.stream)
        if each.subject == "position"
    ]


def rejected(run_agent: RunAgent, writer: Client, token: Token, **properties: object) -> str:
    """Error of `run`, which equals that of `check` and `plan`."""
    with run_agent(capture_start_token=json_util.dumps(token), **properties) as agent:
        error = agent.wait_until_ended()
        found = findings(agent, writer)
    assert isinstance(error, ConfigError)
    assert [each.code for each in found] == ["position_ok", "start_token_rejected"]
    assert found[-1].message == str(error)
    planned = mongo_agent("plan", "--config", agent.offsets / "mongo.properties")
    assert planned.exit_code == 2
    assert str(error) in planned.errors
    return str(error)


@pytest.mark.parametrize("form", FORMS)
def test_start_token_formats_are_accepted(writer: Client, run_agent: RunAgent, form: str) -> None:
    token = tokens(writer, 4)[1]
    with run_agent(capture_start_token=FORMS[form](token)) as agent:
        assert [each.id for each in agent.wait_for(2)] == [2, 3]


def test_stored_offset_overrides_the_start_token(writer: Client, run_agent: RunAgent) -> None:
    first, *_ = tokens(writer, 3)
    properties = {"capture_start_token": json_util.dumps(first)}
    with run_agent(**properties) as agent:
        agent.wait_for(2)
    writer.shop.a.insert_one({"_id": 3})
    with run_agent(**properties) as agent:
        assert [each.id for each in agent.wait_for(1)] == [3]
        assert "Stored cluster times" in findings(agent, writer)[0].message


def test_high_water_mark_starts_the_stream(
    writer: Client, run_agent: RunAgent, three_members: MongoReplicaSet
) -> None:
    tokens(writer, 2)
    with writer.crm.b.watch() as stream:
        assert stream.try_next() is None
        mark = stream.resume_token
    writer.shop.a.insert_one({"_id": 2})
    assert mark is not None
    with run_agent(capture_start_token=mark["_data"]) as agent:
        assert [each.id for each in agent.wait_for(1)] == [2]
        assert findings(agent, writer)[0].level.name == "OK"


def test_invalidation_token_starts_its_own_stream(writer: Client, run_agent: RunAgent) -> None:
    """`startAfter` accepts the token in a stream of the same collection."""
    writer.shop.a.insert_one({"_id": 0})
    with writer.shop.a.watch() as stream:
        writer.shop.a.drop()
        assert stream.next()["operationType"] == "drop"
        invalidate = stream.next()
    writer.shop.a.insert_one({"_id": 1})
    scope = {"capture_scope": "collection", "capture_target": "shop.a"}
    with run_agent(capture_start_token=json_util.dumps(invalidate["_id"]), **scope) as agent:
        assert [each.id for each in agent.wait_for(1)] == [1]


def test_invalidation_token_fails_in_a_wider_stream(writer: Client, run_agent: RunAgent) -> None:
    writer.shop.a.insert_one({"_id": 0})
    with writer.shop.a.watch() as stream:
        writer.shop.a.drop()
        stream.next()
        invalidate = stream.next()
    writer.shop.b.insert_one({"_id": 1})
    message = rejected(run_agent, writer, invalidate["_id"])
    assert "Its event belongs to another cluster, database or collection" in message
    assert "capture.start.op.time=" in message


def test_narrower_token_starts_a_wider_stream(writer: Client, run_agent: RunAgent) -> None:
    with writer.shop.a.watch() as stream:
        writer.shop.a.insert_one({"_id": 0})
        token = stream.next()["_id"]
    writer.shop.b.insert_one({"_id": 1})
    scope = {"capture_scope": "database", "capture_target": "shop"}
    with run_agent(capture_start_token=json_util.dumps(token), **scope) as agent:
        assert [(each.topic, each.id) for each in agent.wait_for(1)] == [("p.shop.b", 1)]


def test_foreign_token_is_rejected_in_narrower_stream(writer: Client, run_agent: RunAgent) -> None:
    token = tokens(writer, 1)[0]
    writer.shop.b.insert_one({"_id": 1})
    scope = {"capture_scope": "collection", "capture_target": "shop.b"}
    assert "belongs to another" in rejected(run_agent, writer, token, **scope)


def test_token_of_a_filtered_event_is_rejected(writer: Client, run_agent: RunAgent) -> None:
    token = tokens(writer, 1)[0]
    writer.shop.b.insert_one({"_id": 1})
    only_b = {"collection_include_list": "shop[.]b"}
    assert "the filters remove it" in rejected(run_agent, writer, token, **only_b)


def test_start_token_older_than_the_oplog_is_rejected(
    writer: Client, run_agent: RunAgent, three_members: MongoReplicaSet, tmp_path: Path
) -> None:
    token = tokens(writer, 1)[0]
    three_members.write_noop()
    three_members.truncate_oplog()
    message = rejected(run_agent, writer, token, snapshot_mode="when_needed")
    assert "The oplog no longer contains all later changes" in message
    assert not list((tmp_path / "offsets").glob("*offset*"))


def test_truncated_start_token_is_rejected(writer: Client, run_agent: RunAgent) -> None:
    """The token starts with a valid time, and the server rejects the rest."""
    damaged = {"_data": tokens(writer, 1)[0]["_data"][:-2]}
    assert "Copy the whole token again" in rejected(run_agent, writer, damaged)


def damaged(text: str) -> st.SearchStrategy[str]:
    """A digit is changed, missing or doubled, or the end is missing."""
    at = st.integers(0, len(text) - 1)
    return st.one_of(
        st.builds(lambda n, digit: text[:n] + digit + text[n + 1 :], at, st.sampled_from("0F9A6")),
        at.map(lambda n: text[:n] + text[n + 1 :]),
        at.map(lambda n: text[:n] + text[n] + text[n:]),
        at.map(lambda n: text[:n]),
    ).filter(lambda found: found != text)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_start_token_is_a_config_error(shop: Client, data: st.DataObject) -> None:
    """For any damage and any error code of the server. A damaged token that the server accepts has
    a time near the intact one."""
    with shop.watch() as stream:
        shop.shop.a.insert_many([{}, {}])
        intact = stream.next()["_id"]
    token = {"_data": data.draw(damaged(intact["_data"]))}
    source = StreamSource(shop, Scope(), (), StreamOptions())
    try:
        read_token(token)
    except ValueError:
        # `mongodb.properties` rejects it; a stored token like this has no time.
        with pytest.raises(StreamFailedError) as caught:
            StreamCursor.open(source, Opening(start_after=token))
        assert caught.value.failure is Failure.INVALID_TOKEN
        return
    try:
        verify_start_token(token, source, "rs0")
    except ConfigError as error:
        assert "`capture.start.token`" in str(error)
    else:
        assert read_token(token).time.second <= read_token(intact).time.second + 60


def test_unrelated_error_is_not_attributed_to_the_token(shop: Client) -> None:
    with shop.watch() as stream:
        shop.shop.a.insert_one({})
        token = stream.next()["_id"]
    source = StreamSource(shop, Scope(), [{"$unknown": 1}], StreamOptions())
    with pytest.raises(StreamFailedError) as caught:
        StreamCursor.open(source, Opening(start_after=token))
    assert caught.value.failure is Failure.OTHER


@pytest.mark.parametrize("policy", ["fail", "resnapshot"])
def test_damaged_stored_token_follows_the_policy(
    writer: Client, run_agent: RunAgent, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    """`check` reports the damage; the agent follows the policy and reports the cause."""
    with run_agent() as agent:
        agent.wait_until_streaming()
        writer.shop.a.insert_one({"_id": 1})
        agent.wait_for(1)
    damage = "mongo_agent.change_stream.position.token_from_json"
    monkeypatch.setattr(damage, lambda text: {"_data": token_from_json(text)["_data"][:-2]})
    writer.shop.a.insert_one({"_id": 2})
    with run_agent(history_lost_policy=policy, snapshot_mode="no_data") as agent:
        found = findings(agent, writer)
        assert found[-1].code == "offset_lost"
        if policy == "fail":
            error = str(agent.wait_until_ended())
            assert "The token is damaged" in error
            assert "estore an intact copy" in error
            assert "oplog" not in error
        else:
            assert {each.id for each in agent.wait_for(2)} == {1, 2}
            assert (agent.offsets / "quarantine" / "gaps.ndjson").exists()


def test_start_token_does_not_change_the_snapshot_mode(writer: Client, run_agent: RunAgent) -> None:
    """The token determines only the start of the stream."""
    token = tokens(writer, 3)[0]
    with run_agent(capture_start_token=json.dumps(token), snapshot_mode="initial") as agent:
        published = agent.wait_for(5)
    assert sorted((each.kind, each.id) for each in published) == [
        ("insert", 1),
        ("insert", 2),
        ("read", 0),
        ("read", 1),
        ("read", 2),
    ]
