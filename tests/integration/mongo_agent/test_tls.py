"""TLS with MongoDB: trust on both sides, and the errors of rejected connections."""

import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from mongo_agent.server.errors import tls_error
from sidecar.errors import AccessDeniedError, ConfigError
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet, User
from tests.support.mongodb.server.client import Client, write_through_election
from tests.support.servers.certificates import Authority, Identity, server_context

PASSWORD = "changeit"
Settings = dict[str, object]
Refusal = Callable[[MongoReplicaSet, Settings], str]


@dataclass(frozen=True)
class Files:
    """An authority and a client certificate signed by it, in the accepted formats."""

    authority: Authority
    client: Identity
    directory: Path

    @property
    def ca(self) -> Path:
        return self.directory / "ca.pem"

    @property
    def identity(self) -> Path:
        return self.directory / "client.pem"

    def trust(self) -> Settings:
        """Settings of a client without a certificate."""
        return {"mongodb.ssl.enabled": "true", "mongodb.ssl.ca.path": self.ca}

    def stores(self) -> Settings:
        return {
            "mongodb.ssl.enabled": "true",
            "mongodb.ssl.truststore": self.directory / "trust.p12",
            "mongodb.ssl.truststore.password": PASSWORD,
            "mongodb.ssl.keystore": self.directory / "key.p12",
            "mongodb.ssl.keystore.password": PASSWORD,
            "mongodb.ssl.keystore.type": "PKCS12",
        }


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    authority, directory = Authority(), tmp_path_factory.mktemp("tls")
    found = Files(authority, authority.signed("agent"), directory)
    authority.pem(found.ca)
    found.client.pem(found.identity)
    authority.truststore(directory / "trust.p12", PASSWORD)
    found.client.pkcs12(directory / "key.p12", PASSWORD)
    return found


@pytest.fixture(scope="module")
def guarded(files: Files, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MongoReplicaSet]:
    """Three members that require a client certificate."""
    directory = tmp_path_factory.mktemp("guarded")
    context = server_context(directory, files.authority.signed(), clients_of=files.authority)
    with MongoReplicaSet(members=3, tls=context) as started:
        yield started


def streams(directory: Path, replica_set: MongoReplicaSet, files: Files, tls: Settings) -> None:
    """An event arrives, also after an election."""
    with (
        Client(
            replica_set.connection_string,
            tls=True,
            tlsCAFile=str(files.ca),
            tlsCertificateKeyFile=str(files.identity),
        ) as writer,
        RunningAgent(directory, replica_set.connection_string, tls).streaming() as agent,
    ):
        writer.shop.a.insert_one({"_id": directory.name})
        agent.wait_for(1)
        replica_set.step_down()
        write_through_election(
            partial(writer.shop.b.insert_one, {"_id": directory.name}), "the second insert"
        )
        agent.wait_for(2)


@pytest.fixture
def refusal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Refusal:
    """Run an agent that never connects, with short attempts; returns the error that ends it."""
    monkeypatch.setattr("mongo_agent.check.connection_diagnostics._LONGEST_MS", 200)
    monkeypatch.setattr("mongo_agent.service.connection._CLOSE_S", 0.2)
    monkeypatch.setattr("mongo_agent.check.probe.ANSWER_S", 0.2)
    short = {"mongodb.server.selection.timeout.ms": 200, "connect.max.attempts": 100_000}

    def run(replica_set: MongoReplicaSet, tls: Settings) -> str:
        string = replica_set.connection_string
        with RunningAgent(tmp_path / "refused", string, {**short, **tls}) as agent:
            error = agent.wait_until_ended()
        assert isinstance(error, ConfigError)
        assert "\n" not in str(error)
        return str(error)

    return run


def test_java_stores_open_the_stream(
    tmp_path: Path, files: Files, guarded: MongoReplicaSet
) -> None:
    streams(tmp_path, guarded, files, files.stores())


def test_pem_files_open_the_stream(tmp_path: Path, files: Files, guarded: MongoReplicaSet) -> None:
    tls = {**files.trust(), "mongodb.ssl.certificate.path": files.identity}
    streams(tmp_path, guarded, files, tls)


def test_connection_string_tls_options_open_the_stream(
    tmp_path: Path, files: Files, guarded: MongoReplicaSet
) -> None:
    options = f"&tls=true&tlsCAFile={files.ca}&tlsCertificateKeyFile={files.identity}"
    with RunningAgent(tmp_path, guarded.connection_string + options) as agent:
        agent.wait_until_streaming()


def test_client_certificate_logs_in_to_mongodb(tmp_path: Path, files: Files) -> None:
    """`MONGODB-X509`: the subject of the certificate is the user."""
    context = server_context(tmp_path, files.authority.signed(), clients_of=files.authority)
    string = "&authMechanism=MONGODB-X509&authSource=$external"
    refused = MongoReplicaSet(tls=context, users=[User("CN=somebody", "")])
    for replica_set in (MongoReplicaSet(tls=context, users=[User("CN=agent", "")]), refused):
        with replica_set:
            agent = RunningAgent(
                tmp_path / "offsets",
                replica_set.connection_string + string,
                {**files.stores(), "access.denied.action": "exit"},
            )
            with agent:
                if replica_set is refused:
                    assert isinstance(agent.wait_until_ended(), AccessDeniedError)
                else:
                    agent.wait_until_streaming()


def stranger(files: Files, folder: Path) -> Settings:
    identity = Authority("somebody else").signed("agent").pem(folder / "stranger.pem")
    tls = {**files.stores(), "mongodb.ssl.certificate.path": identity}
    del tls["mongodb.ssl.keystore"]
    return tls


def another_authority(files: Files, folder: Path) -> Settings:
    trust = Authority("somebody else").truststore(folder / "trust.p12", PASSWORD)
    return {
        "mongodb.ssl.enabled": "true",
        "mongodb.ssl.truststore": trust,
        "mongodb.ssl.truststore.password": PASSWORD,
    }


REFUSED: dict[str, tuple[Callable[[Files, Path], Settings], tuple[str, ...]]] = {
    "no certificate": (
        lambda files, folder: files.trust(),
        ("requires a client certificate", "`mongodb.ssl.keystore`"),
    ),
    "untrusted certificate": (stranger, ("rejected the agent's client certificate",)),
    "untrusted authority": (
        another_authority,
        ("is signed by an untrusted CA", "`mongodb.ssl.truststore`"),
    ),
    "no TLS": (lambda files, folder: {}, ("requires TLS. Set `mongodb.ssl.enabled=true`",)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_rejected_mongodb_client_is_reported(
    tmp_path: Path, files: Files, guarded: MongoReplicaSet, refusal: Refusal, name: str
) -> None:
    settings, parts = REFUSED[name]
    sentence = refusal(guarded, settings(files, tmp_path))
    for part in parts:
        assert part in sentence


def test_tls_1_1_only_server_is_reported(tmp_path: Path, files: Files, refusal: Refusal) -> None:
    context = server_context(tmp_path, files.authority.signed())
    context.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with MongoReplicaSet(tls=context) as old:
        assert "supports neither TLS 1.2 nor 1.3" in refusal(old, files.stores())


def test_server_without_tls_is_reported(files: Files, refusal: Refusal) -> None:
    with MongoReplicaSet() as plain:
        sentence = refusal(plain, files.trust())
    assert "does not use TLS. Set `mongodb.ssl.enabled=false`" in sentence


@pytest.mark.parametrize(
    ("host", "is_expired", "part"),
    [
        ("mongo.example", False, "`mongodb.ssl.invalid.hostname.allowed=true`"),
        ("127.0.0.1", True, "has expired"),
    ],
    ids=["another host", "expired"],
)
def test_invalid_server_certificate_is_reported(
    tmp_path: Path, files: Files, refusal: Refusal, host: str, is_expired: bool, part: str
) -> None:
    identity = files.authority.signed(host=host, is_expired=is_expired)
    with MongoReplicaSet(tls=server_context(tmp_path, identity)) as replica_set:
        assert part in refusal(replica_set, files.trust())
        if not is_expired:
            tls = {**files.trust(), "mongodb.ssl.invalid.hostname.allowed": "true"}
            with RunningAgent(tmp_path / "allowed", replica_set.connection_string, tls) as agent:
                agent.wait_until_streaming()


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"mongodb.ssl.keystore.password": "wrong"}, "`mongodb.ssl.keystore.password`"),
        ({"mongodb.ssl.truststore": "/nowhere"}, "/nowhere cannot be read"),
        ({"mongodb.ssl.ca.path": "ca"}, "are mutually exclusive"),
        ({"mongodb.ssl.keystore": "trust"}, "contains no private key"),
    ],
    ids=["password", "no file", "both", "no key"],
)
def test_unusable_mongodb_stores_are_reported(
    tmp_path: Path, files: Files, changes: Settings, part: str
) -> None:
    paths = {"ca": files.ca, "trust": files.directory / "trust.p12"}
    named = {name: paths.get(str(value), value) for name, value in changes.items()}
    with pytest.raises(ConfigError) as refused:
        RunningAgent(tmp_path, "mongodb://127.0.0.1:1/", {**files.stores(), **named})
    assert part in str(refused.value)
    assert PASSWORD not in str(refused.value)


def test_only_certificate_errors_are_rewritten() -> None:
    assert tls_error("127.0.0.1:27017: connection closed") is None
    assert "not valid yet" in (tls_error("certificate is not yet valid (_ssl.c:1006)") or "")
