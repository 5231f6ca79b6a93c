"""Every property of Debezium has a correct row in docs/reference/debezium-properties.md."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.config.debezium import INERT, DebeziumProperties
from agent.config.model import AgentProperties
from sidecar.errors import ConfigError
from sidecar.properties.model import declarations
from sidecar.properties.types import value_text
from tests.support.agents.minimal_configuration import of_lines

REPOSITORY = Path(__file__).resolve().parents[4]
PAGE = (REPOSITORY / "docs" / "reference" / "debezium-properties.md").read_text(encoding="utf-8")

# Properties of the 2021 manual: its table in order, then its text.
MANUAL = """
    snapshot.mode snapshot.consistency http.port cassandra.config cassandra.hosts cassandra.port
    cassandra.username cassandra.password cassandra.ssl.enabled cassandra.ssl.config.path
    commit.log.relocation.dir commit.log.post.processing.enabled commit.log.transfer.class
    remote.commit.log.relocation.dir storage.credential.key.file offset.backing.store.dir
    offset.flush.interval.ms max.offset.flush.size max.queue.size max.batch.size poll.interval.ms
    schema.refresh.interval.ms cdc.dir.poll.interval.ms snapshot.scan.interval.ms
    tombstones.on.delete field.exclude.list sanitize.field.names
    column.exclude.list field.blacklist connector.name kafka.topic.prefix key.converter
    key.converter.* value.converter value.converter.* kafka.producer.* kafka.consumer.*
    latest.commit.log.only
"""
# `CassandraConnectorConfig` of 3.7, with properties inherited from `CommonConnectorConfig`.
PRESENT = """
    topic.prefix cassandra.cluster.name cassandra.driver.config.file cassandra.node.id
    commit.log.relocation.dir.poll.interval.ms commit.log.transfer.*
    commit.log.error.reprocessing.enabled commit.log.real.time.processing.enabled
    commit.log.marked.complete.poll.interval.ms commit.log.processor.shutdown.timeout.seconds
    num.of.change.event.queues event.order.guarantee.mode decimal.handling.mode
    varint.handling.mode tracing.enabled sourceinfo.struct.maker
    poll.dispatch.interval.ms max.queue.size.in.bytes topic.naming.strategy topic.delimiter
    topic.cache.size schema.name.adjustment.mode custom.metric.tags custom.sanitize.pattern
    skipped.operations converters errors.max.retries extended.headers.enabled
    topic.heartbeat.prefix topic.heartbeat.name heartbeat.* signal.* notification.*
    field.name.adjustment.mode
"""
# The tests of effective properties, as paths below `tests/` without `.py`.
TESTS = """
    acceptance/agent/test_debezium_files: column.exclude.list field.blacklist
    acceptance/agent/test_own_transfer: commit.log.transfer.class commit.log.transfer.*
    acceptance/agent/test_property_effects: http.port commit.log.post.processing.enabled
        offset.flush.interval.ms kafka.topic.prefix latest.commit.log.only topic.prefix
        custom.metric.tags
    acceptance/agent/test_real_node: cassandra.hosts cassandra.username cassandra.password
    acceptance/agent/test_remote_stores: remote.commit.log.relocation.dir
    acceptance/agent/test_run: commit.log.relocation.dir offset.backing.store.dir
        cassandra.node.id tracing.enabled
    acceptance/security/test_cassandra: cassandra.ssl.enabled cassandra.ssl.config.path
    integration/avro/test_recordings: value.converter
    integration/avro/test_tables: field.exclude.list sanitize.field.names
        decimal.handling.mode varint.handling.mode field.name.adjustment.mode
    integration/converters/test_recordings: key.converter
    integration/converters/test_tombstones: tombstones.on.delete
    integration/snapshot/test_live: snapshot.consistency
    integration/stores/test_gcs_and_s3: storage.credential.key.file
    unit/agent/check/test_tables: topic.delimiter
    unit/agent/cli/test_quarantine: commit.log.error.reprocessing.enabled
    unit/agent/config/test_driver_file: cassandra.driver.config.file
    unit/agent/config/test_loader: cassandra.config cassandra.port cassandra.cluster.name
        sourceinfo.struct.maker
    unit/agent/pipeline/test_directory_scanner: cdc.dir.poll.interval.ms
    unit/agent/schema/test_holder: schema.refresh.interval.ms
    unit/agent/snapshot/test_offsets: snapshot.mode
    unit/agent/snapshot/test_snapshot: snapshot.scan.interval.ms
    unit/commitlog/events/test_skipped_operations: skipped.operations
    unit/sidecar/schema_registry/test_client: key.converter.* value.converter.*
    unit/sidecar/sinks/kafka/config/test_client_config: kafka.producer.*
"""


@dataclass(frozen=True)
class Entry:
    """One row of the page."""

    name: str
    default_here: str
    state: str
    meaning: str


def entries() -> list[Entry]:
    rows = re.findall(
        r"^\| `([^`]+)` \| [^|]* \| ([^|]*) \| (works|accepted|default) \| ([^|]*) \|$",
        PAGE,
        re.MULTILINE,
    )
    return [
        Entry(*(cell.strip(" `") if i != 3 else cell for i, cell in enumerate(r))) for r in rows
    ]


def of_state(*states: str) -> list[Entry]:
    return [entry for entry in entries() if entry.state in states]


def test_every_debezium_property_has_one_row() -> None:
    names = [entry.name for entry in entries()]
    assert len(names) == len(set(names))
    assert {*MANUAL.split(), *PRESENT.split()} - set(names) == set()
    assert len([line for line in PAGE.splitlines() if line.startswith("| `")]) == len(names) + 3


def test_every_inert_property_has_an_accepted_row() -> None:
    names = {entry.name for entry in of_state("accepted")}
    declared = [declaration for _, _, declaration in declarations(DebeziumProperties)]
    assert names == INERT.keys() | {f"{each.name}*" for each in declared if each.is_prefix}


@pytest.mark.parametrize("entry", of_state("accepted"), ids=lambda entry: entry.name)
def test_accepted_property_logs_a_warning_with_its_name(entry: Entry, tmp_path: Path) -> None:
    name = entry.name.replace("*", "some.setting")
    warning, *_ = of_lines(tmp_path, f"{name}=1").warnings
    assert f"`{name}`" in warning
    assert "has no effect here" in warning


@pytest.mark.parametrize(
    ("lines", "proposed"),
    [
        (["tasks.max=1"], "`event.cells=false` and `kafka.partition.by=key`."),
        (["tasks.max=1", "event.cells=true"], "set `kafka.partition.by=key`."),
        (["tasks.max=1", "event.cells=false", "kafka.partition.by=key"], None),
        ([], None),
    ],
)
def test_file_of_debezium_names_settings_that_keep_its_messages(
    tmp_path: Path, lines: list[str], proposed: str | None
) -> None:
    found = [each for each in of_lines(tmp_path, *lines).warnings if "For equal messages" in each]
    assert [each.endswith(str(proposed)) for each in found] == ([True] if proposed else [])


@pytest.mark.parametrize("entry", of_state("works", "default"), ids=lambda entry: entry.name)
def test_supported_property_has_the_documented_default(entry: Entry) -> None:
    found = [
        (info, declaration)
        for _, info, declaration in declarations(AgentProperties)
        if entry.name.removesuffix("*") in (declaration.name, *declaration.aliases)
    ]
    ((info, declaration),) = found
    assert declaration.is_prefix == entry.name.endswith("*")
    if not declaration.is_prefix:
        default = "required" if info.is_required() else value_text(info.default)
        assert entry.default_here == default


@pytest.mark.parametrize("entry", of_state("default"), ids=lambda entry: entry.name)
def test_property_accepts_only_its_default(entry: Entry, tmp_path: Path) -> None:
    assert of_lines(tmp_path, f"{entry.name}={entry.default_here}").warnings == ()
    other = "true" if entry.default_here == "false" else "com.example.Other"
    with pytest.raises(ConfigError) as raised:
        of_lines(tmp_path, f"{entry.name}={other}")
    (problem,) = raised.value.problems
    for part in (f"`{entry.name}`", "it must be", f"`{other}`"):
        assert part in problem


def test_supported_property_has_an_existing_test() -> None:
    tested: set[str] = set()
    path = ""
    for word in TESTS.split():
        if word.endswith(":"):
            path = word.removesuffix(":")
            assert (REPOSITORY / "tests" / f"{path}.py").is_file(), path
        else:
            tested.add(word)
    assert {entry.name for entry in of_state("works")} <= tested
    assert not [entry for entry in of_state("works") if len(entry.meaning.strip()) <= 3]
