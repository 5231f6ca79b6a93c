"""`--json`: each command has it, its schema is documented, and its real output is valid."""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from flask import Blueprint, Response, request

from agent.node.truncations import Acknowledgements
from agent.quarantine.files import DIRECTORY, EVENTS, REASON
from agent.quarantine.reason import LostRange, QuarantineReason, reason_text
from mongo_agent.capture.catalogue import CollectionInfo, CollectionKind
from mongo_agent.check.capture_plan import CollectionPlan
from mongo_agent.cli.compare import Comparison
from mongo_agent.cli.plan import CapturePlan, planned_collection
from mongo_agent.compare.comparison import ComparedCollection
from sidecar.cli.output import WITHOUT_JSON, json_form, print_json
from sidecar.dead_letters.dead_letter import DeadLetter, event_line
from sidecar.http.server import HttpServer
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import Run, runner
from tests.support.agents.fake_status import HOST, FakeStatus
from tests.support.checks.json_schemas import (
    PAGE,
    PROGRAMS,
    SCHEMAS,
    command_schema,
    commands,
    forms,
    page,
    schema_document,
)

pytestmark = pytest.mark.heavy

NAME = "CommitLog-7-1.log"
TABLE = {
    **{"table": "ks.t", "id": "1", "state": "copying", "rows": 3, "percent": 12.5, "ranges": 4},
    **{"ranges_done": 1, "started_at": "2026-01-31T12:00:00.000+00:00"},
}
STREAM = {
    **{"is_running": True, "is_paused": False, "initial": "done", "is_aborted": False},
    **{"collections": [], "requests": 0, "remaining_collections": 1, "finished_collections": 2},
}
WITH_SERVERS = frozenset({"plan", "compare", "offsets import"})
"""Commands of `mongo-agent` that need MongoDB; their results are validated without it."""


def test_every_command_has_json_or_a_reason() -> None:
    for program, group in PROGRAMS.items():
        for name, command in commands(group):
            assert (json_form(command) is None) == (name in WITHOUT_JSON), f"{program} {name}"


def test_the_schemas_and_the_page_are_current() -> None:
    for program in PROGRAMS:
        assert json.loads((SCHEMAS / f"{program}.json").read_text()) == schema_document(program)
    assert PAGE.read_text() == page()


@dataclass
class Site:
    """An agent's directories, its properties file, and an HTTP server that answers for it."""

    agent_dir: AgentDir
    configuration: Path
    connector: Path
    targets: Path


@pytest.fixture
def site(agent_dir: AgentDir) -> Iterator[Site]:
    pages = Blueprint("snapshots", __name__)

    @pages.get("/snapshot")
    def show() -> Response:
        document = {"tables": [TABLE], "is_running": True, "streams": {"": STREAM}}
        return Response(json.dumps(document), mimetype="application/json")

    @pages.post("/<path:path>")
    def change(path: str) -> Response:
        is_known = request.get_json().get("table") != "ks.unknown"
        answer = {"accepted": is_known, "message": f"{path}: {is_known}."}
        return Response(json.dumps(answer), mimetype="application/json")

    Acknowledgements(agent_dir.offsets).begin(())
    kept = agent_dir.relocation / DIRECTORY
    kept.mkdir()
    for number in (1, 2):
        write_segment(kept, number, [[payload(number)]])
    reason = QuarantineReason(NAME, "0.2.0", "2026-01-31T12:00:00+00:00", (LostRange(1, 9, "x"),))
    (kept / f"{NAME}{REASON}").write_bytes(reason_text(reason))
    (kept / f"{NAME}{EVENTS}").write_bytes(event_line(DeadLetter("t", b"", b"", (), "r"), "0"))
    connector = agent_dir.relocation / "commitlog_offset.properties"
    connector.write_text(f"ks.t={NAME}:120\n")
    write_segment(agent_dir.cdc_raw, 7, [[payload(7)]])
    with HttpServer(FakeStatus(), HOST, 0, [pages]) as server:
        settings = {"http.host": HOST, "http.port": str(server.port)}
        targets = agent_dir.folder / "nodes.txt"
        targets.write_text(f"{HOST}:{server.port}\n")
        yield Site(agent_dir, agent_dir.configuration(settings), connector, targets)


@dataclass(frozen=True)
class Case:
    """One command line of `agent`; `arguments` follow the name of the command."""

    command: str
    arguments: Callable[[Site], list[str | Path]] = lambda site: []
    exit_code: int = 0
    is_configured: bool = True


CASES = (
    Case("status"),
    Case("check", exit_code=1),
    Case("fleet", lambda site: ["--targets", site.targets], is_configured=False),
    Case("config check"),
    Case("config show"),
    Case("offsets show"),
    Case("offsets accept-prefix"),
    Case("offsets import", lambda site: ["--from", site.connector]),
    Case("offsets show"),
    Case("offsets reset"),
    Case("quarantine list"),
    Case("quarantine retry", lambda site: ["--all"]),
    Case("quarantine discard", lambda site: ["--all", "--yes"]),
    Case("quarantine list"),
    Case("snapshot start", lambda site: ["ks.t", "ks.u"]),
    Case("snapshot stop", lambda site: ["--all"]),
    Case("snapshot status"),
    Case("truncations acknowledge", lambda site: ["ks.t"]),
    Case("verify", lambda site: [site.agent_dir.cdc_raw], is_configured=False),
    Case(
        "dump",
        lambda site: ["--schema", site.agent_dir.schema, site.agent_dir.cdc_raw],
        is_configured=False,
    ),
)


def test_real_output_of_every_command_of_agent_is_valid(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {case.command for case in CASES} == forms("agent").keys()
    agent = runner(capsys)
    for case in CASES:
        options = ["--config", site.configuration] if case.is_configured else []
        done = agent(*case.command.split(), "--json", *options, *case.arguments(site))
        assert done.exit_code == case.exit_code, (case.command, done)
        validate("agent", case.command, done.output)


MONGO_CASES = (
    ("status",),
    ("fleet", "--dns", HOST),
    ("config check",),
    ("config show",),
    ("offsets show",),
    ("offsets accept-prefix",),
    ("snapshot start", "shop.a"),
    ("snapshot stop", "--all"),
    ("snapshot pause",),
    ("snapshot resume",),
    ("snapshot status",),
)


def test_real_output_of_commands_of_mongo_agent_is_valid(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {name for name, *_ in MONGO_CASES}
    assert known | WITH_SERVERS | {"check"} == forms("mongo-agent").keys()
    mongo_agent = runner(capsys, "mongo_agent")
    port = next(line for line in site.configuration.read_text().splitlines() if "http.port" in line)
    offsets = tmp_path / "mongo-offsets"
    offsets.mkdir()
    file = tmp_path / "mongo.properties"
    file.write_text(
        f"{port}\nhttp.host={HOST}\nmongodb.connection.string=mongodb://127.0.0.1:9/?replicaSet=a\n"
        f"topic.prefix=p\nsink=stdout\noffset.backing.store.dir={offsets}\n"
    )
    for name, *arguments in MONGO_CASES:
        if name == "fleet":
            arguments += ["--port", port.partition("=")[2]]
        done = mongo_agent(*name.split(), "--json", "--config", file, *arguments)
        assert done.exit_code == 0, (name, done)
        validate("mongo-agent", name, done.output)
    file.write_text("sink=stdot\n")
    validate("mongo-agent", "check", mongo_agent("check", "--json", "--config", file).output)


def test_results_of_commands_that_need_mongodb_are_valid(
    capsys: pytest.CaptureFixture[str],
) -> None:
    collection = CollectionInfo("shop", "a", CollectionKind.PLAIN)
    planned = planned_collection(CollectionPlan(collection, True, False, "all", "no_data"))
    compared = ComparedCollection("shop.a", 3, 1, 0, 0, 1, 0, 0, ("shop.a: 1 documents differ",))
    for name, result in (
        ("plan", CapturePlan((planned,))),
        ("compare", Comparison(False, (compared,))),
    ):
        print_json(result)
        validate("mongo-agent", name, capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (("offsets", "show", "--json"), 2),
        (("quarantine", "retry", "--json", "--nonsense"), 2),
        (("verify", "--json", "/nonexistent"), 2),
        (("snapshot", "status", "--json", "--url", "http://127.0.0.1:1"), 1),
    ],
)
def test_a_failure_is_a_document_too(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], exit_code: int
) -> None:
    done = runner(capsys)(*arguments)
    assert (done.exit_code, done.errors) == (exit_code, "")
    assert json.loads(done.output)["exit_code"] == exit_code
    validate("agent", "error", done.output)


def test_a_rejected_table_is_a_failure(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    agent: Run = runner(capsys)
    arguments = ("snapshot", "start", "ks.unknown", "--config", site.configuration)
    done = agent(*arguments, "--json")
    assert (done.exit_code, json.loads(done.output)["exit_code"]) == (4, 4)
    assert agent(*arguments).exit_code == 4


def test_pipes_get_plain_columns(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    agent: Run = runner(capsys)
    packed = site.agent_dir.relocation / f"{'long' * 40}"
    packed.mkdir()
    kept = site.agent_dir.relocation / DIRECTORY
    (packed / f"{NAME}.gz").write_bytes(gzip.compress((kept / NAME).read_bytes()))
    for arguments in (
        ("quarantine", "list", "--config", site.configuration),
        ("verify", packed),
        ("dump", "--tree", packed),
    ):
        output = agent(*arguments).output
        assert NAME in output
        assert not set(output) & set("┏━┃│└\x1b…") - set("└│"), output
        assert all(line == line.rstrip() for line in output.splitlines())


def validate(program: str, command: str, output: str) -> None:
    form = forms(program).get(command)
    texts = output.splitlines() if form is not None and form.is_lines else [output]
    assert texts
    schema: dict[str, Any] = command_schema(program, command)
    for text in texts:
        jsonschema.validate(json.loads(text), schema)
