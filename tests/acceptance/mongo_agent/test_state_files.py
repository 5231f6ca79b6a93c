"""The offset file of the MongoDB agent: topic prefix, format version, and `offsets accept-prefix`.
No server is needed."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from mongo_agent.change_stream.position import StreamPosition
from mongo_agent.documents import ClusterTime
from mongo_agent.offsets import OFFSET_FILE, AgentOffsets, StreamOffset
from mongo_agent.snapshot.progress import SnapshotProgress
from sidecar.files.locks import DirectoryLock
from sidecar.offsets.properties_store import PropertiesStore, encode
from tests.support.agents.agent_main import runner
from tests.support.mongodb.agent_command import configuration

Said = Callable[..., tuple[int, str]]
KAFKA = {
    "topic_prefix": "other",
    "position_store": "kafka",
    "sink": "kafka",
    "kafka_producer_bootstrap_servers": "127.0.0.1:1",
}


def position() -> dict[str, str]:
    stream = StreamPosition({"_data": "82"}, ClusterTime(1_700_000_000, 3), "", "rs0")
    return AgentOffsets().moved("", StreamOffset(stream, None, SnapshotProgress())).values()


@pytest.fixture
def offsets(tmp_path: Path) -> Path:
    folder = tmp_path / "offsets"
    folder.mkdir()
    return folder


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    command_line = runner(capsys, "mongo_agent")

    def run(*command: str, **changes: str) -> tuple[int, str]:
        named = {name.replace("_", "."): value for name, value in changes.items()}
        path = configuration(tmp_path, "rs0/127.0.0.1:1", None, named)
        done = command_line(*command, "--config", path)
        assert "Traceback" not in done.errors
        return done.exit_code, done.output + done.errors

    return run


def test_changed_prefix_is_rejected_with_two_remedies(offsets: Path, said: Said) -> None:
    PropertiesStore(offsets, OFFSET_FILE, "shop").save(position())
    for command in (("config", "check"), ("run",)):
        code, text = said(*command, topic_prefix="other")
        assert code == 2
        for part in ("`other`", "`shop`", "Set it to", "accept-prefix", "snapshot start"):
            assert part in text
    assert said("config", "check", topic_prefix="shop")[0] == 0


def test_accept_prefix_keeps_the_offset(offsets: Path, said: Said) -> None:
    PropertiesStore(offsets, OFFSET_FILE, "shop").save(position())
    code, text = said("offsets", "accept-prefix", topic_prefix="other")
    assert code == 0
    assert "topic.prefix `other` instead of `shop`" in text
    assert "mongo-agent snapshot start" in text
    assert said("config", "check", topic_prefix="other")[0] == 0
    assert said("config", "check", topic_prefix="shop")[0] == 2
    assert PropertiesStore(offsets, OFFSET_FILE, "other").load().values == position()
    assert "1700000000:3" in said("offsets", "show", topic_prefix="other")[1]


def test_accept_prefix_ignores_an_unchanged_prefix(offsets: Path, said: Said) -> None:
    PropertiesStore(offsets, OFFSET_FILE, "shop").save(position())
    code, text = said("offsets", "accept-prefix", topic_prefix="shop")
    assert (code, "belong to topic.prefix `shop`." in text) == (0, True)


def test_offset_file_of_0_1_0_gets_a_prefix(offsets: Path, said: Said) -> None:
    PropertiesStore(offsets, OFFSET_FILE).save(position())
    assert said("config", "check", topic_prefix="other")[0] == 0
    code, _ = said("offsets", "accept-prefix", topic_prefix="other")
    assert code == 0
    assert PropertiesStore(offsets, OFFSET_FILE).load().topic_prefix == "other"


def test_accept_prefix_needs_no_offset(offsets: Path, said: Said) -> None:
    code, text = said("offsets", "accept-prefix", topic_prefix="other")
    assert (code, "any topic.prefix can be used" in text) == (0, True)
    assert not (offsets / OFFSET_FILE).exists()


def test_accept_prefix_fails_while_the_agent_runs(offsets: Path, said: Said) -> None:
    PropertiesStore(offsets, OFFSET_FILE, "shop").save(position())
    with DirectoryLock(offsets):
        assert said("offsets", "accept-prefix", topic_prefix="other")[0] == 3
    assert PropertiesStore(offsets, OFFSET_FILE).load().topic_prefix == "shop"


def test_offset_in_kafka_keeps_its_prefix(offsets: Path, said: Said) -> None:
    code, error = said("offsets", "accept-prefix", **KAFKA)
    assert code == 2
    assert "`position.store=kafka`" in error
    assert "Set the old topic.prefix again" in error


@pytest.mark.parametrize("words", [("show",), ("accept-prefix",)])
@pytest.mark.parametrize("version", ["2", "x"])
def test_offset_of_a_later_release_is_rejected(
    offsets: Path, said: Said, version: str, words: tuple[str, ...]
) -> None:
    body = encode(position(), "shop").split(b"\n", 1)[1]
    body = body.replace(b"#format.version=1", f"#format.version={version}".encode())
    file = offsets / OFFSET_FILE
    file.write_bytes(b"#sha256=" + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
    before = file.read_bytes()
    code, text = said("offsets", *words, topic_prefix="shop")
    assert code == 1
    assert f"format version {version}; this release reads 1" in text
    assert "Start the release that wrote it" in text
    assert file.read_bytes() == before


@pytest.mark.parametrize("words", [("show",), ("accept-prefix",)])
def test_torn_offset_file_is_reported(offsets: Path, said: Said, words: tuple[str, ...]) -> None:
    (offsets / OFFSET_FILE).write_bytes(b"torn")
    code, text = said("offsets", *words, topic_prefix="shop")
    assert code == 1
    assert "its first line is not a checksum" in text
    assert "Restore an intact copy" in text


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("import",), "either --from-file or --from-topic"),
        (("import", "--from-file", "/nope"), "'/nope' does not exist"),
        (("show", "--jsn"), "--json"),
        (("shwo",), "shwo"),
    ],
)
def test_invalid_offsets_arguments_are_rejected(
    offsets: Path, said: Said, words: tuple[str, ...], part: str
) -> None:
    code, text = said("offsets", *words)
    assert code == 2
    assert part in text
