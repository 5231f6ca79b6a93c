"""Loading properties into a model: all problems are reported at once, with their lines."""

import threading
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from sidecar.errors import ConfigError
from sidecar.properties.loading import LoadedProperties, load
from sidecar.properties.model import Properties, prop
from sidecar.properties.source import command_line_settings
from tests.support.agents.property_models import ShopProperties


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cdc.properties"


def loaded(
    path: Path, text: str, *, environment: dict[str, str] | None = None
) -> LoadedProperties[ShopProperties]:
    path.write_text(text)
    return load(ShopProperties, [path], environment=environment or {})


def problems(path: Path, text: str, *, environment: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        loaded(path, text, environment=environment)
    return [problem.replace(str(path), "FILE") for problem in caught.value.problems]


def test_every_kind_of_property_value_is_loaded(path: Path) -> None:
    text = """
        topic.prefix=shop
        http.port = 9
        ratio=0.25
        enabled=False
        hosts= a, b ,,c
        timeout.ms= 250
        size.max.bytes=64 MiB
        mode=Never
        level=all
        folder=/var/lib/cdc
        password=secret
        kafka.producer.acks=all
        kafka.producer.linger.ms=5
    """
    properties = loaded(path, text).properties
    assert properties == ShopProperties(
        topic_prefix="shop",
        port=9,
        ratio=0.25,
        enabled=False,
        hosts=("a", "b", "c"),
        timeout_ms=250,
        size_bytes=64 << 20,
        mode="never",
        level="ALL",
        folder=Path("/var/lib/cdc"),
        password=SecretStr("secret"),
        producer={"acks": "all", "linger.ms": "5"},
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("17", 17),
        ("17B", 17),
        ("1k", 1024),
        ("1KB", 1024),
        ("2kib", 2048),
        ("3m", 3 << 20),
        ("3 MB", 3 << 20),
        ("4GiB", 4 << 30),
        ("1g", 1 << 30),
    ],
)
def test_sizes_are_parsed_with_units(path: Path, text: str, size: int) -> None:
    properties = loaded(path, f"topic.prefix=x\nsize.max.bytes={text}").properties
    assert properties.size_bytes == size


def test_loaded_properties_are_immutable(path: Path) -> None:
    properties = loaded(path, "topic.prefix=shop\nkafka.producer.acks=all").properties
    with pytest.raises(ValidationError):
        properties.port = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        properties.producer["acks"] = "1"  # type: ignore[index]


def test_repr_of_properties_hides_secrets(path: Path) -> None:
    text = "topic.prefix=shop\npassword=hidden-1\nkafka.producer.sasl.password=hidden-2"
    assert "hidden" not in repr(loaded(path, text))


def test_all_config_errors_are_reported_at_once(path: Path) -> None:
    text = """http.prt=1
        http.port=http
        ratio=0
        enabled=maybe
        timeout.ms=10 parsecs
        size.max.bytes=lots
        mode=Initial
        level=two
        tracing.enabled=true
        zzz=1
        """
    assert problems(path, text) == [
        "`http.prt` (FILE:1) is not a known property; the nearest one is `http.port`.",
        "`tracing.enabled` (FILE:9) is not supported: there is no tracing.",
        "`zzz` (FILE:10) is not a known property.",
        "`topic.prefix` must be set: First part of a topic.",
        "`http.port` (FILE:2) must be a whole number, not `http`.",
        "`ratio` (FILE:3) must be more than 0, not `0`.",
        "`enabled` (FILE:4) must be true or false, not `maybe`.",
        "`timeout.ms` (FILE:5) must be a whole number of milliseconds, or a number with a unit "
        "such as 10s, 5m or 1h, not `10 parsecs`.",
        "`size.max.bytes` (FILE:6) must be a number of bytes such as 67108864, 65536KiB, "
        "64Mi or 64m, "
        "not `lots`.",
        "`mode` (FILE:7) cannot be `initial`: there are no snapshots.",
        "`level` (FILE:8) must be 'ONE' or 'ALL', not `two`.",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("http.port=65536", "must be at most 65535, not `65536`"),
        ("http.port=-1", "must be at least 0, not `-1`"),
        ("pause.ms=1", "must be at least 2, not `1`"),
        ("http.port=1.5", "must be a whole number, not `1.5`"),
        ("http.port=1_000", "must be a number without `_`, not `1_000`"),
        ("ratio=x", "must be a number, not `x`"),
        (f"size.max.bytes={1 << 63}", f"must be at most {2**63 - 1}, not `{1 << 63}`"),
        ("hosts=", "must name one host when `enabled` is true"),
        ("topic.prefix=", "must not be empty"),
        ("http.port=", "is empty, and must be a whole number"),
        ("folder=", "must not be empty"),
        ("folder=/a\\u0000b", "must not contain the character NUL"),
        (
            "ratio=99999999999999999999",
            "must be at most 9223372036854775808, not `99999999999999999999`",
        ),
        (
            "size.max.bytes=9g g",
            "must be a number of bytes such as 67108864, 65536KiB, 64Mi or 64m, not `9g g`",
        ),
        ("mode=http://u:pw@h", "must be 'initial' or 'never', not `http://********@h`"),
    ],
)
def test_invalid_property_value_is_reported_with_reason(
    path: Path, line: str, problem: str
) -> None:
    text = line if line.startswith("topic.") else f"{line}\ntopic.prefix=x"
    name = line.partition("=")[0]
    assert problems(path, text) == [f"`{name}` (FILE:1) {problem}."]


def test_java_long_maximum_is_a_valid_timeout(path: Path) -> None:
    longest = loaded(path, f"topic.prefix=x\ntimeout.ms={2**63 - 1}").properties.timeout_ms
    assert 3_000_000_000 < longest / 1000 < threading.TIMEOUT_MAX


def test_duplicate_property_in_file_is_rejected(path: Path) -> None:
    assert problems(path, "topic.prefix=a\nkafka.topic.prefix=b\nhttp.port=1\nhttp.port=1") == [
        "`kafka.topic.prefix` (FILE:2) is already set at `topic.prefix` (FILE:1).",
        "`http.port` (FILE:4) is already set at `http.port` (FILE:3).",
    ]


def test_later_files_and_command_line_take_precedence(path: Path, tmp_path: Path) -> None:
    path.write_text("topic.prefix=a\nhttp.port=1\nratio=0.1\nkafka.producer.acks=all")
    second = tmp_path / "local.properties"
    second.write_text("http.port=2\nratio=0.2\nkafka.producer.linger.ms=5")
    overrides = command_line_settings(["ratio=0.3", "kafka.topic.prefix=b"])
    result = load(ShopProperties, [path, second], overrides=overrides, environment={})
    properties = result.properties
    assert (properties.topic_prefix, properties.port, properties.ratio) == ("b", 2, 0.3)
    assert properties.producer == {"acks": "all", "linger.ms": "5"}


def test_properties_without_effect_are_warned_about(path: Path) -> None:
    result = loaded(path, "topic.prefix=a\nmax.queue.size=8192\nratio=2")
    assert [warning.replace(str(path), "FILE") for warning in result.warnings] == [
        "`max.queue.size` (FILE:2) has no effect here: the window is bounded elsewhere",
        "`ratio` is large.",
    ]


def test_references_are_resolved(path: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("from a file\n")
    store = tmp_path / "secrets.properties"
    store.write_text("cassandra = from a store\n")
    text = f"""topic.prefix=${{env:PREFIX}}-${{env:SUFFIX}}
        password=${{file:{secret}}}
        kafka.producer.sasl.password=${{file:{store}:cassandra}}
        """
    properties = loaded(path, text, environment={"PREFIX": "p", "SUFFIX": "s"}).properties
    assert properties.topic_prefix == "p-s"
    assert properties.password is not None
    assert properties.password.get_secret_value() == "from a file"
    assert properties.producer["sasl.password"] == "from a store"


def test_unresolvable_references_are_reported(path: Path, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a=1")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    text = f"""topic.prefix=${{env:NOT_SET}}
        password=${{file:/does/not/exist}}
        folder=${{file:{tmp_path}/store:b}}
        pin=${{file:{tmp_path}/binary}}
        http.port=${{env:PORT}}
        """
    assert problems(path, text, environment={"PORT": "eighty"}) == [
        "`topic.prefix` (FILE:1) refers to the environment variable NOT_SET, which is not set.",
        "`password` (FILE:2) refers to the file /does/not/exist, which cannot be read: No such "
        "file or directory.",
        f"`folder` (FILE:3) refers to b in the file {tmp_path}/store, which has no such property.",
        f"`pin` (FILE:4) refers to the file {tmp_path}/binary, which is not text in UTF-8.",
        "`http.port` (FILE:5) must be a whole number, not `${env:PORT}`.",
    ]


def test_error_message_hides_invalid_secret(path: Path) -> None:
    class Model(Properties):
        pin: SecretStr = prop("pin", doc="Pin.", secret=True, min_length=8)

    path.write_text("pin=1234")
    with pytest.raises(ConfigError) as caught:
        load(Model, [path])
    assert "1234" not in str(caught.value)


def test_secret_property_must_be_a_secret_str() -> None:
    with pytest.raises(TypeError, match="must be a SecretStr"):

        class Model(Properties):
            pin: str = prop("pin", doc="Pin.", secret=True)


def test_property_field_needs_a_declaration() -> None:
    with pytest.raises(TypeError, match=r"declared by prop\(\)"):

        class Model(Properties):
            pin: str


def test_file_references_are_reread(path: Path, tmp_path: Path) -> None:
    """A changed secret file takes effect; a changed properties file needs a restart."""
    secret = tmp_path / "secret"
    secret.write_text("first\n")
    text = f"topic.prefix=shop\npassword=${{file:{secret}}}\nkafka.producer.a=${{file:{secret}}}\n"
    at_start = loaded(path, text).properties
    path.write_text("topic.prefix=other\n")
    for content in ("second\n", "third\n"):
        secret.write_text(content)
        again = at_start.reread()
        assert (again.password, again.topic_prefix) == (SecretStr(content.strip()), "shop")
        assert again.producer == {"a": content.strip()}
        assert at_start.latest is again
    assert at_start.password == SecretStr("first")


@pytest.mark.parametrize("fault", ["absent", "rejected"])
def test_unusable_reference_file_leaves_properties_unchanged(
    path: Path, tmp_path: Path, fault: str
) -> None:
    port = tmp_path / "port"
    port.write_text("9")
    at_start = loaded(path, f"topic.prefix=shop\nhttp.port=${{file:{port}}}\n").properties
    if fault == "absent":
        port.unlink()
    else:
        port.write_text("none")
    assert at_start.reread() is at_start.latest is at_start


def test_properties_without_file_references_are_not_reread(path: Path) -> None:
    environment = {"WORD": "secret"}
    at_start = loaded(
        path, "topic.prefix=shop\npassword=${env:WORD}\n", environment=environment
    ).properties
    environment["WORD"] = "other"
    assert at_start.reread() is at_start


@pytest.mark.parametrize("written", ["~/off", "$HOME/off"])
def test_shell_path_is_rejected_with_expanded_path(
    path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("HOME", "/home/cdc")
    (problem,) = problems(path, f"topic.prefix=shop\nfolder={written}\n")
    assert problem == (
        "`folder` (FILE:2) is not shell-expanded: write the whole path, `folder=/home/cdc/off`."
    )
    (line,) = (each for each in problem.split("`") if "=" in each)
    assert loaded(path, f"topic.prefix=shop\n{line}\n").properties.folder == Path("/home/cdc/off")


def test_names_of_debezium_server_are_recognised(path: Path) -> None:
    found = problems(
        path,
        "debezium.source.topic.prefix=shop\ndebezium.sink.type=kafka\nquarkus.log.level=INFO\n",
    )
    assert found[:3] == [
        "`debezium.source.topic.prefix` (FILE:1) is a name of Debezium Server. Write "
        "`topic.prefix`.",
        *(
            f"`{name}` (FILE:{line}) belongs to Debezium Server. Remove it; `sink` and "
            "`kafka.producer.*` set the destination."
            for line, name in ((2, "debezium.sink.type"), (3, "quarkus.log.level"))
        ),
    ]


def test_contradictions_are_reported_with_other_errors(path: Path) -> None:
    """Contradictions of invalid properties are not reported."""

    def cross(properties: ShopProperties) -> list[str]:
        assert properties.timeout_ms == 7
        return ["`timeout.ms` contradicts `hosts`", "`http.port` contradicts `hosts`"]

    path.write_text("topic.prefix=\nhttp.port=x\ntimeout.ms=7\n")
    with pytest.raises(ConfigError) as caught:
        load(ShopProperties, [path], cross=cross)
    assert [each.replace(str(path), "FILE") for each in caught.value.problems] == [
        "`topic.prefix` (FILE:1) must not be empty.",
        "`http.port` (FILE:2) must be a whole number, not `x`.",
        "`timeout.ms` (FILE:3) contradicts `hosts`.",
    ]
