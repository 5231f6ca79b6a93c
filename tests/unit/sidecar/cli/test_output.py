"""Every command supports `--json`, with a documented schema and valid output. Colours and boxes
appear on a terminal, not with `NO_COLOR`, never in a pipe."""

import gzip
import json
import os
import pty
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from flask import Blueprint, Response, request

from agent.node.truncations import Acknowledgements
from agent.quarantine.files import (
    DIRECTORY,
    EVENTS,
    REASON,
    LostRange,
    QuarantineReason,
    reason_text,
)
from mongo_agent.check.capture_plan import CollectionPlan
from mongo_agent.cli.compare import Comparison
from mongo_agent.cli.plan import CapturePlan, planned_collection
from mongo_agent.compare.comparison import ComparedCollection
from mongo_agent.server.catalogue import CollectionInfo, CollectionKind
from sidecar.cli.output import print_json
from sidecar.dead_letters.dead_letter import DeadLetter, event_line
from sidecar.http.server import HttpServer
from tests.support.agents.agent_command import AGENT
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import Run, agent, runner
from tests.support.agents.fake_status import HOST, FakeStatus
from tests.support.checks.json_schemas import (
    PAGE,
    PROGRAMS,
    SCHEMAS,
    WITHOUT_JSON,
    command_schema,
    commands,
    forms,
    json_form,
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


def test_every_command_supports_json_or_is_exempt() -> None:
    for program, group in PROGRAMS.items():
        for name, command in commands(group):
            assert (json_form(command) is None) == (name in WITHOUT_JSON), f"{program} {name}"


def test_json_schemas_and_page_are_current() -> None:
    for program in PROGRAMS:
        assert json.loads((SCHEMAS / f"{program}.json").read_text()) == schema_document(program)
    assert PAGE.read_text() == page()


@pytest.fixture
def site(agent_dir: AgentDir) -> Iterator[Path]:
    """An agent's directories, with its configuration, and an HTTP server that answers for it."""
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
    quarantine(agent_dir, segments=(1, 2))
    kept = agent_dir.relocation / DIRECTORY
    (kept / f"{NAME}{EVENTS}").write_bytes(event_line(DeadLetter("t", b"", b"", (), "r"), "0"))
    (agent_dir.folder / "connector").write_text(f"ks.t={NAME}:120\n")
    write_segment(agent_dir.cdc_raw, 7, [[payload(7)]])
    with HttpServer(FakeStatus(), HOST, 0, [pages]) as server:
        agent_dir.configuration({"http.host": HOST, "http.port": str(server.port)})
        (agent_dir.folder / "nodes.txt").write_text(f"{HOST}:{server.port}\n")
        yield agent_dir.folder


def quarantine(agent_dir: AgentDir, segments: Iterable[int]) -> None:
    """Quarantine segments; only the first one has a reason file."""
    kept = agent_dir.relocation / DIRECTORY
    kept.mkdir()
    for number in segments:
        write_segment(kept, number, [[payload(number)]])
    reason = QuarantineReason(NAME, "0.2.0", "2026-01-31T12:00:00+00:00", (LostRange(1, 9, "x"),))
    (kept / f"{NAME}{REASON}").write_bytes(reason_text(reason))


CONFIGURED = "--config {0}/cdc.properties"
CASES = (
    ("status", CONFIGURED),
    ("check", CONFIGURED),
    ("fleet", "--targets {0}/nodes.txt"),
    ("config check", CONFIGURED),
    ("config show", CONFIGURED),
    ("offsets show", CONFIGURED),
    ("offsets accept-prefix", CONFIGURED),
    ("offsets import", f"{CONFIGURED} --from {{0}}/connector"),
    ("offsets show", CONFIGURED),
    ("offsets reset", CONFIGURED),
    ("quarantine list", CONFIGURED),
    ("quarantine retry", f"{CONFIGURED} --all"),
    ("quarantine discard", f"{CONFIGURED} --all --yes"),
    ("quarantine list", CONFIGURED),
    ("snapshot start", f"{CONFIGURED} ks.t ks.u"),
    ("snapshot stop", f"{CONFIGURED} --all"),
    ("snapshot status", CONFIGURED),
    ("truncations acknowledge", f"{CONFIGURED} ks.t"),
    ("verify", "{0}/cdc_raw"),
    ("dump", "--schema {0}/schema.cql {0}/cdc_raw"),
    ("size", "--nodes 60 --writes 200000"),
)
"""Commands of `agent` with their options; `{0}` is the folder of the agent."""


def test_json_output_of_every_agent_command_is_valid(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {command for command, _ in CASES} == forms("agent").keys()
    run = runner(capsys)
    for command, options in CASES:
        done = run(*command.split(), "--json", *options.format(site).split())
        assert done.exit_code == (command == "check"), (command, done)
        validate("agent", command, done.output)


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


def test_json_output_of_mongo_agent_commands_is_valid(
    site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {name for name, *_ in MONGO_CASES}
    assert known | WITH_SERVERS | {"check"} == forms("mongo-agent").keys()
    mongo_agent = runner(capsys, "mongo_agent")
    port = (site / "nodes.txt").read_text().rpartition(":")[2].strip()
    offsets = tmp_path / "mongo-offsets"
    offsets.mkdir()
    file = tmp_path / "mongo.properties"
    file.write_text(
        f"http.port={port}\nhttp.host={HOST}\nmongodb.connection.string=mongodb://127.0.0.1:9/?replicaSet=a\n"
        f"topic.prefix=p\nsink=stdout\noffset.backing.store.dir={offsets}\n"
    )
    for name, *arguments in MONGO_CASES:
        if name == "fleet":
            arguments += ["--port", port]
        done = mongo_agent(*name.split(), "--json", "--config", file, *arguments)
        assert done.exit_code == 0, (name, done)
        validate("mongo-agent", name, done.output)
    file.write_text("sink=stdot\n")
    validate("mongo-agent", "check", mongo_agent("check", "--json", "--config", file).output)


def test_json_results_of_commands_needing_mongodb_are_valid(
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
def test_failure_is_a_json_document(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], exit_code: int
) -> None:
    done = runner(capsys)(*arguments)
    assert (done.exit_code, done.errors) == (exit_code, "")
    assert json.loads(done.output)["exit_code"] == exit_code
    validate("agent", "error", done.output)


def test_rejected_snapshot_table_fails_the_command(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run: Run = runner(capsys)
    arguments = ("snapshot", "start", "ks.unknown", "--config", site / "cdc.properties")
    done = run(*arguments, "--json")
    assert (done.exit_code, json.loads(done.output)["exit_code"]) == (1, 1)
    assert run(*arguments).exit_code == 1


def test_tables_are_plain_columns_in_a_pipe(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run: Run = runner(capsys)
    packed = site / "relocation" / f"{'long' * 40}"
    packed.mkdir()
    kept = site / "relocation" / DIRECTORY
    (packed / f"{NAME}.gz").write_bytes(gzip.compress((kept / NAME).read_bytes()))
    for arguments in (
        ("quarantine", "list", "--config", site / "cdc.properties"),
        ("verify", packed),
        ("dump", "--tree", packed),
    ):
        output = run(*arguments).output
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


COMMANDS = {
    ("check",): "file.path",
    ("quarantine", "list"): NAME,
    ("status", "--port", "1"): "No agent answers",
    ("--help",): "quarantine",
}
"""Commands, each with a part of its output."""
_COLOUR = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9\d|10\d)(?:;[\d;]*)?m")
_BOX = re.compile("[\u2500-\u257f]")


@pytest.fixture
def configuration(agent_dir: AgentDir) -> Path:
    """Configure an agent with one quarantined segment, for which `check` finds a fault."""
    quarantine(agent_dir, segments=(1,))
    return agent_dir.configuration({"file.path": "/nowhere/events.ndjson"})


def command(words: tuple[str, ...], configuration: Path) -> list[str]:
    options = [] if words == ("--help",) else ["--config", str(configuration)]
    return [str(AGENT), *words, *options]


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a colour terminal, independent of the test runner."""
    left_out = {"NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "TERM": "xterm-256color", "COLUMNS": "200", **changes}


def on_terminal(arguments: list[str], **changes: str) -> str:
    """Return the output of the command on a separate terminal."""
    ours, theirs = pty.openpty()
    try:
        with subprocess.Popen(
            arguments, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(**changes)
        ):
            os.close(theirs)
            printed = b""
            # The end of a terminal without a writer is an error on Linux.
            while chunk := _read(ours):
                printed += chunk
    finally:
        os.close(ours)
    return printed.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_output_in_pipe_contains_neither_colours_nor_boxes(
    words: tuple[str, ...], configuration: Path
) -> None:
    done = agent(*command(words, configuration)[1:])
    printed = done.output + done.errors
    assert COMMANDS[words] in printed
    assert "\x1b" not in printed
    assert not _BOX.search(printed)


def test_terminal_output_contains_boxes_and_respects_no_color(configuration: Path) -> None:
    assert _COLOUR.search(on_terminal(command(("check",), configuration)))
    for words in (("check",), ("quarantine", "list")):
        printed = on_terminal(command(words, configuration), NO_COLOR="1")
        assert not _COLOUR.search(printed)
        assert COMMANDS[words] in printed
        assert bool(_BOX.search(printed)) is (words == ("quarantine", "list"))
