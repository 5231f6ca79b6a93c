"""Common configuration mistakes of the MongoDB agent, one per row: `config check`, `check` and
`run` report property, value, allowed values and remedy, or accept the value. No server is
needed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.agents.agent_main import runner
from tests.support.mongodb.agent_command import configuration

Changes = Mapping[str, str | None]
KAFKA = {"sink": "kafka", "kafka.producer.bootstrap.servers": "127.0.0.1:1"}
SIGNALS = {"signal.enabled.channels": "kafka", "signal.kafka.bootstrap.servers": "h:1"}
REGISTRY = {"value.converter": "io.confluent.connect.avro.AvroConverter"}
URL = "value.converter.schema.registry.url"
LOGIN = {"mongodb.user": "u", "mongodb.password": "p"}


def uri(text: str, **more: str) -> Changes:
    return {"mongodb.hosts": None, "mongodb.connection.string": text, **more}


@dataclass(frozen=True)
class Mistake:
    """Values of `changes` may contain `{folder}`; the message contains all `parts`."""

    changes: Changes
    parts: tuple[str, ...]


def hosts(text: str, *parts: str) -> Mistake:
    return Mistake({"mongodb.hosts": text}, ("mongodb.hosts", *parts))


def string(text: str, *parts: str) -> Mistake:
    return Mistake(uri(text), ("mongodb.connection.string", *parts))


def one(name: str, value: str, *parts: str) -> Mistake:
    return Mistake({name: value}, (name, *parts))


FORM = "`host:port,host:port` or `rs0/host:port,…`"
REFUSED = {
    "hosts: port": hosts("h:99999", "`99999`", "1 to 65535", FORM),
    "hosts: port 0": hosts("h:0", "`0`", "1 to 65535", FORM),
    "hosts: name of a port": hosts("h:mongo", "`mongo`", "1 to 65535"),
    "hosts: connection string": hosts("mongodb://h:1", "`mongodb://`", "mongodb.connection.string"),
    "hosts: scheme": hosts("http://h", "`http://`", "Remove the scheme"),
    "hosts: options": hosts("h:1/?replicaSet=rs0", "options", "mongodb.connection.string"),
    "hosts: comma": hosts("h:1,", "empty part"),
    "hosts: nothing": hosts("rs0/", "empty part"),
    "hosts: no name": hosts("/h:1", "replica set name"),
    "hosts: space in the name": hosts("rs 0/h:1", "`rs 0`", "replica set name"),
    "hosts: name behind": hosts("h:1/rs0", "`h:1`", "first part"),
    "hosts: two sets": hosts("rs0/a:1,rs1/b:1", "several replica sets", "List one"),
    "hosts: spaces": hosts("a:1 b:1", "commas separate addresses"),
    "hosts: login": hosts("u:p@h:1", "mongodb.user"),
    "hosts: IPv6": hosts("::1:27017", "brackets", "[::1]:27017"),
    "hosts: comment": hosts("h:1 # mine", "comment needs its own line"),
    "hosts: letters": hosts("h*:1", "`h*`", "not a host name"),
    "string: nothing": string("", "start with `mongodb://` or `mongodb+srv://`"),
    "string: scheme": string("mongo://h", "start with `mongodb://` or `mongodb+srv://`"),
    "string: comment": string("mongodb://h # mine", "comment needs its own line"),
    "string: port": string("mongodb://h:x", "`x`", "1 to 65535"),
    "string: at sign": string("mongodb://u:p@ss@h", "`%40`", "mongodb.password"),
    "string: slash": string("mongodb://u:p/w@h", "`%2F`", "mongodb.password"),
    "string: question mark": string("mongodb://u:p?w@h", "must be escaped"),
    "string: no password": string("mongodb://u@h", "user without a password"),
    "string: no user": string("mongodb://:open@h", "password without a user"),
    "string: option": string("mongodb://h/?foo=bar", "Unknown option: foo"),
    "string: empty option": string("mongodb://h/?replicaSet=", "`replicaSet` is empty"),
    "string: option twice": string("mongodb://h/?appName=x&appname=y", "is set twice"),
    "string: file": string("mongodb://h/?tls=true&tlsCAFile=/nope", "/nope", "cannot be read"),
    "string: preference": string("mongodb://h/?readPreference=nearst", "nearst"),
    "string: mechanism": string("mongodb://h/?authMechanism=FOO", "SCRAM-SHA-256"),
    "srv: nothing": string("mongodb+srv://", "at least one hostname"),
    "srv: port": string("mongodb+srv://a.b.c:27017", "no port"),
    "srv: hosts": string("mongodb+srv://a.b.c,d.e.f", "one host name"),
    "srv: address": string("mongodb+srv://10.0.0.1", "`10.0.0.1` is an address"),
    "srv: login": string("mongodb+srv://u:p@ss@a.b.c", "`%40`"),
    "srv: option": string("mongodb+srv://a.b.c/?foo=bar", "Unknown option: foo"),
    "srv: value": string("mongodb+srv://a.b.c/?tls=perhaps", "'true' or 'false'"),
    "password": Mistake(
        {"mongodb.user": "u", "mongodb.password": ""}, ("mongodb.password", "is empty")
    ),
    "authsource": Mistake({**LOGIN, "mongodb.authsource": "a/b"}, ("mongodb.authsource", "`a/b`")),
    "ca": Mistake(
        {"mongodb.ssl.enabled": "true", "mongodb.ssl.ca.path": "{folder}"},
        ("mongodb.ssl.ca.path", "Is a directory"),
    ),
    "databases: commas": one("database.include.list", ",", "an entry between its commas"),
    "collections: commas": one("collection.include.list", " , ,", "an entry between its commas"),
    "fields: commas": one("field.exclude.list", ",,", "an entry between its commas"),
    "targets: space": Mistake(
        {"capture.scope": "database", "capture.target": "sh op"},
        ("capture.target", "cannot contain"),
    ),
    "targets: length": Mistake(
        {"capture.scope": "database", "capture.target": "x" * 64},
        ("capture.target", "64 bytes", "63"),
    ),
    "start: milliseconds": one(
        "capture.start.op.time", "1700000000000", "`1700000000000`", "1970", "divided by 1000"
    ),
    "operations": one("skipped.operations", "create", "`create`", "`c` (inserts)"),
    "stage": one("cursor.pipeline", '[{"$match": 5}]', "$match requires an object"),
    "stage without _id": one("cursor.pipeline", '[{"$project": {"_id": 0}}]', "`_id`", "must keep"),
    "stage that unsets": one("cursor.pipeline", '[{"$unset": ["ns"]}]', "`ns`", "must keep"),
    "stage that selects": one(
        "cursor.pipeline", '[{"$project": {"fullDocument": 1}}]', "`operationType`"
    ),
    "batch": one("max.batch.size", "2147483648", "at most 2147483647"),
    "fetch": one("snapshot.fetch.size", "2147483648", "at most 2147483647"),
    "threads": one("snapshot.max.threads", "100000", "at most 256"),
    "chunk": one("incremental.snapshot.chunk.size", "1k", "whole number", "`1k`"),
    "two names": one("field.renames", "a.b.c:d, a.b.c:e", "`d` and `e`", "Keep one"),
    "long topic": Mistake(
        {"heartbeat.interval.ms": "10s", "topic.heartbeat.prefix": "x" * 249},
        ("topic.heartbeat.prefix", "251 characters", "249", "Shorten it"),
    ),
    "one topic for two": Mistake(
        {**KAFKA, "position.store": "kafka", "topic.schema.changes": "L.position"},
        ("position.topic", "topic.schema.changes", "L.position", "Use two topics"),
    ),
    "signal file": Mistake(
        {"signal.enabled.channels": "file", "signal.file": "{folder}"},
        ("signal.file", "is a directory", "Name a file in it"),
    ),
    "signal collection": one("signal.data.collection", "local.signals", "a system collection"),
    "signal setting": Mistake(
        {**SIGNALS, "signal.consumer.foo": "bar"}, ("signal.consumer.foo", "not a setting")
    ),
    "signal protocol": Mistake(
        {**SIGNALS, "signal.consumer.security.protocol": "TLS"},
        ("signal.consumer.security.protocol", "`TLS`", "SASL_SSL"),
    ),
    "signal login": Mistake(
        {**SIGNALS, "signal.consumer.sasl.mechanism": "PLAIN"},
        ("signal.consumer.sasl.mechanism", "signal.consumer.security.protocol", "SASL_SSL"),
    ),
    "signal port": Mistake(
        {**SIGNALS, "signal.kafka.bootstrap.servers": "h:99999"}, ("`99999`", "1 to 65535")
    ),
    "registry port": Mistake({**REGISTRY, URL: "http://h:99999"}, (URL, "`99999`", "1 to 65535")),
    "registry address": Mistake({**REGISTRY, URL: "h:8081"}, (URL, "http://registry:8081")),
    "broker port": Mistake(
        {**KAFKA, "kafka.producer.bootstrap.servers": "127.0.0.1:99999"},
        ("kafka.producer.bootstrap.servers", "`99999`", "1 to 65535"),
    ),
    "prefix": one("topic.prefix", "p" * 300, "300", "249"),
    "comment in the prefix": one("topic.prefix", "foo # mine", "put comments on a separate line"),
    "provider": one("node.id", "${vault:x}", "${vault:x}", "${env:NAME}", "$${"),
    "variable": one("node.id", "${HOME}", "${env:HOME}"),
    "deployment": one("mongodb.deployment", "replicaset", "'replica_set'", "`replicaset`"),
    "mode": one("snapshot.mode", "initail", "'initial'", "`initail`"),
    "size": one("inflight.max.bytes", "5 parsecs", "`5 parsecs`", "64Mi"),
    "time": one("heartbeat.interval.ms", "-1", "`-1`", "10s, 5m or 1h"),
    "offsets": one("offset.backing.store.dir", "/nope", "does not exist"),
    "address": one("http.host", "10.255.255.1", "not an address of this machine", "0.0.0.0"),
}
NO_EFFECT = "has no effect without"
WARNED = {
    "compressor": Mistake(uri("mongodb://h/?compressors=rar"), ("ignores", "rar")),
    "TLS off": Mistake(
        uri("mongodb://h/?tls=true", **{"mongodb.ssl.enabled": "false"}),
        ("mongodb.ssl.enabled=false", "has no effect", "uses TLS"),
    ),
    "TLS on": Mistake(
        uri("mongodb://h/?tls=false", **{"mongodb.ssl.enabled": "true"}), ("overrides `tls=false`",)
    ),
    "authsource": one("mongodb.authsource", "shop", NO_EFFECT, "does not log in"),
    "truststore password": one("mongodb.ssl.truststore.password", "x", NO_EFFECT),
    "keystore password": one("mongodb.ssl.keystore.password", "x", NO_EFFECT),
    "key password": one("mongodb.ssl.key.password", "x", NO_EFFECT, "certificate.path"),
    "semicolon": one("database.include.list", "shop;crm", "commas separate"),
    "server's own": one("database.include.list", "admin", "never captures"),
    "collection as database": one("database.include.list", "shop.orders", "have no dot"),
    "expression": Mistake(
        {"filters.match.mode": "literal", "collection.include.list": "shop.*"},
        ("collection.include.list", "looks like a regular expression"),
    ),
    "no collection": Mistake(
        {"filters.match.mode": "literal", "collection.include.list": "orders"},
        ("collection.include.list", "matches no collection"),
    ),
    "field": Mistake(
        {"field.exclude.list": "shop.orders.card", "database.include.list": "crm"},
        ("field.exclude.list", "shop.orders.card", "does not capture"),
    ),
    "field twice": Mistake(
        {"field.exclude.list": "a.b.c", "field.renames": "a.b.c:d"},
        ("field.renames", "a.b.c", "removes"),
    ),
    "start to come": one("capture.start.op.time", "4294967295:1", "in the future"),
    "commit interval": one("position.commit.interval.ms", "10s", NO_EFFECT, "position.store=kafka"),
    "signal topic": one("signal.kafka.topic", "t", NO_EFFECT, "signal.enabled.channels"),
    "signal servers": one("signal.kafka.bootstrap.servers", "h:1", NO_EFFECT),
    "signal collection": Mistake(
        {"signal.enabled.channels": "", "signal.data.collection": "a.b"},
        ("signal.data.collection", NO_EFFECT),
    ),
    "guardrail": one("guardrail.collections.limit.action", "fail", NO_EFFECT),
    "transaction topic": one("topic.transaction", "tx", NO_EFFECT),
    "heartbeat topic": one("topic.heartbeat.name", "beats", NO_EFFECT),
    "comment": one("node.id", "lab # mine", "part of the value `lab # mine`"),
    "idempotence": Mistake(
        {**KAFKA, "kafka.producer.enable.idempotence": "false"}, ("enable.idempotence", "resends")
    ),
    "topic settings": one("topic.creation.default.partitions", "3", "topic.creation.enable=true"),
}
ACCEPTED = {
    "level": ("log.level", "warn", "warning"),
    "bytes": ("inflight.max.bytes", "16Mi", "16777216"),
    "quarantine": ("quarantine.max.bytes", "1 GB", "1073741824"),
    "seconds": ("heartbeat.interval.ms", "10s", "10000"),
    "minutes": ("oplog.headroom.warning.ms", "10m", "600000"),
    "hour": ("schema.blocked.timeout.ms", "1h", "3600000"),
    "capitals": ("skipped.operations", "C", "c"),
    "repeated entries": ("database.include.list", "shop,shop", "shop,shop"),
    "IPv6": ("mongodb.hosts", "rs0/[::1]:27017,h", "rs0/[::1]:27017,h"),
    "copies": ("snapshot.mode", "NEVER", "no_data"),
    "flag": ("tombstones.on.delete", "yes", "true"),
}

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def said(tmp_path: Path, capsys: Capture) -> Callable[..., tuple[int, str]]:
    """Run a command here and return exit code and output; it ends before it connects."""

    command_line = runner(capsys, "mongo_agent")

    def run(changes: Changes, *command: str) -> tuple[int, str]:
        given = {
            name: None if value is None else value.replace("{folder}", str(tmp_path))
            for name, value in changes.items()
        }
        path = configuration(tmp_path, "rs0/h:1", None, given)
        done = command_line(*command, "--config", path)
        return done.exit_code, done.output + done.errors

    return run


@pytest.mark.parametrize("name", REFUSED)
def test_config_check_rejects_a_mistake(name: str, said: Callable[..., tuple[int, str]]) -> None:
    code, text = said(REFUSED[name].changes, "config", "check")
    assert code == 2, text
    assert "Traceback" not in text
    for part in REFUSED[name].parts:
        assert part in text


@pytest.mark.parametrize("command", [("check",), ("plan",), ("run",), ()], ids=" ".join)
@pytest.mark.parametrize("name", ["hosts: port", "string: at sign", "stage", "databases: commas"])
def test_command_rejects_a_configuration_mistake(
    name: str, command: tuple[str, ...], said: Callable[..., tuple[int, str]]
) -> None:
    code, text = said(REFUSED[name].changes, *command)
    assert code == 2, text
    (line,) = text.splitlines()
    for part in REFUSED[name].parts:
        assert part in line


@pytest.mark.parametrize("name", ["offsets", "address"])
def test_run_rejects_unusable_directory_or_address(
    name: str, said: Callable[..., tuple[int, str]]
) -> None:
    code, text = said(REFUSED[name].changes, "run")
    assert code == 2, text
    for part in REFUSED[name].parts:
        assert part in text


@pytest.mark.parametrize("name", WARNED)
def test_property_without_effect_is_a_warning(
    name: str, said: Callable[..., tuple[int, str]], recwarn: pytest.WarningsRecorder
) -> None:
    code, text = said(WARNED[name].changes, "config", "check")
    assert code == 0, text
    (line,) = [line for line in text.splitlines() if line.startswith("warning: ")]
    for part in WARNED[name].parts:
        assert part in line
    assert not list(recwarn), "the driver's own warning is not printed"


@pytest.mark.parametrize("name", ACCEPTED)
def test_value_formats_are_accepted(name: str, said: Callable[..., tuple[int, str]]) -> None:
    prop, value, shown = ACCEPTED[name]
    code, text = said({prop: value}, "config", "show")
    assert code == 0, text
    assert f"{prop}={shown}  #" in text


@pytest.mark.parametrize(
    "text",
    [
        "mongodb://u:open%20sesame@a:1,b:2/?replicaSet=rs0&tls=true",
        "mongodb://[::1]:27017/shop",
        "mongodb://u:open sesame@h",
        "mongodb+srv://u:p@cluster0.abcde.example.net/?retryWrites=true&w=majority",
        "mongodb+srv://cluster0.abcde.example.net/?srvMaxHosts=2&srvServiceName=mongo",
        "mongodb://CN=client@h/?authMechanism=MONGODB-X509&tls=true",
        "mongodb://h/?readPreference=secondary&readPreferenceTags=dc:a&readPreferenceTags=",
    ],
)
def test_common_connection_strings_are_accepted(
    text: str, said: Callable[..., tuple[int, str]], recwarn: pytest.WarningsRecorder
) -> None:
    code, output = said(uri(text), "config", "check")
    assert (code, output) == (0, "The configuration is valid.\n")
    assert not list(recwarn)


@pytest.mark.parametrize(
    "text",
    [
        "mongodb://u:sesame@ss@h",
        "mongodb://u:sesame/w@h",
        "mongodb://u:sesame?w@h",
        "mongodb://u:sesame:w@h",
        "mongodb://u:sesame@h:0",
        "mongodb://u:sesame@h/?foo=sesame",
        "mongodb+srv://u:sesame@a.b.c:1",
        "mongodb+srv://u:sesame/@a.b.c",
    ],
)
def test_uri_errors_hide_the_password(text: str, said: Callable[..., tuple[int, str]]) -> None:
    code, output = said(uri(text), "config", "check")
    assert code == 2
    assert "sesame" not in output


@pytest.mark.parametrize("arguments", [(), ("--set", "x"), ("--set", "sink=stdout")])
def test_missing_configuration_is_an_error(arguments: tuple[str, ...], capsys: Capture) -> None:
    done = runner(capsys, "mongo_agent")(*arguments)
    assert (done.exit_code, done.output) == (2, "")
    assert "mongo-agent --config FILE" in done.errors
