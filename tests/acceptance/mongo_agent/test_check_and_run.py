"""`mongo-agent check` reports each error of `mongo-agent run` in the same words, and `run` reports
each fault of `check`."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mongo_agent.config.loading import load_config
from mongo_agent.service import create_service
from sidecar.process.lifecycle import Stop
from tests.support.mongodb.agent_command import CDC, FINDER, configuration, mongo_agent
from tests.support.servers.processes import free_port, wait_until
from tests.support.sinks.fake_registry import FakeRegistry

Changes = Mapping[str, str | None]

AVRO = {"value.converter": "io.confluent.connect.avro.AvroConverter"}
URL = "value.converter.schema.registry.url"


def checked(path: Path, *options: str) -> tuple[int, list[Any]]:
    """Exit code and faults."""
    done = mongo_agent("check", "--json", "--config", path, *options)
    document = json.loads(done.output)
    assert document["exit_code"] == done.exit_code
    assert all(each["code"] for each in document["findings"])
    assert all(bool(e["remedy"]) == (e["level"] != "ok") for e in document["findings"])
    return done.exit_code, [each for each in document["findings"] if each["level"] == "fault"]


@contextmanager
def running(path: Path, port: int) -> Iterator[Callable[[], tuple[int, list[str]]]]:
    """Agent in a thread; yields a function that returns status and conditions of its `/health`."""
    stop = Stop(60_000)
    service = create_service(load_config([path]))

    def health() -> tuple[int, list[str]]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer:
                return answer.status, _codes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _codes(error.read())
        except OSError:
            return 0, []

    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(service.run, stop)
        try:
            yield health
        finally:
            stop.request()
            ended.result()
            stop.close()


def _codes(answer: bytes) -> list[str]:
    return [each["code"] for each in json.loads(answer)["conditions"]]


def configured(folder: Path, hosts: str, changes: Changes) -> tuple[int, Path]:
    """Port and properties file of an agent without snapshots."""
    port = free_port()
    endless: Changes = {"connect.max.attempts": None, "connect.backoff.max.delay.ms": "50"}
    values = {**endless, "snapshot.mode": "no_data", "http.port": str(port), **changes}
    return port, configuration(folder, hosts, CDC, values)


def _folder(folder: Path) -> Changes:
    (folder / "events").mkdir()
    return {"sink": "file", "file.path": str(folder / "events")}


def _no_directory(folder: Path) -> Changes:
    return {"offset.backing.store.dir": str(folder / "none")}


ENDS: Mapping[str, tuple[str, Callable[[Path], Changes]]] = {
    "transform": ("transform_unusable", lambda folder: {"event.transform": "nomodule:fn"}),
    "token": ("http_token_unusable", lambda folder: {"http.token.file": "/nope"}),
    "address": ("http_address_unusable", lambda folder: {"http.host": "10.255.255.1"}),
    "file": ("sink_file_unusable", _folder),
    "directory": ("directory_unusable", _no_directory),
    "deployment": ("deployment_unusable", lambda folder: {"mongodb.deployment": "mongos"}),
    "password": (
        "server_access_denied",
        lambda folder: {"mongodb.password": "wrong", "access.denied.action": "exit"},
    ),
}
"""Faults that end `run`, because they never resolve without an operator."""


@pytest.mark.parametrize("name", ENDS)
def test_check_finds_errors_that_end_run(tmp_path: Path, hosts: str, name: str) -> None:
    code, make = ENDS[name]
    path = configuration(tmp_path, hosts, CDC, make(tmp_path))
    exit_code, faults = checked(path)
    assert exit_code == 1
    assert [each["code"] for each in faults] == [code]
    ran = mongo_agent("run", "--config", path)
    assert ran.exit_code == (4 if code == "server_access_denied" else 2), ran.errors
    assert faults[0]["message"] in " ".join(ran.errors.splitlines())


def _broker(folder: Path) -> Changes:
    return {"sink": "kafka", "kafka.producer.bootstrap.servers": f"127.0.0.1:{free_port()}"}


def _registry(folder: Path) -> Changes:
    return {**AVRO, URL: f"http://127.0.0.1:{free_port()}"}


HEALS: Mapping[str, tuple[str, str, Callable[[Path], Changes]]] = {
    "broker": ("broker_unavailable", "sink_unavailable", _broker),
    "registry": ("schema_registry_unavailable", "schema_registry_unavailable", _registry),
    "password": (
        "server_access_denied",
        "start_blocked",
        lambda folder: {"mongodb.password": "wrong"},
    ),
    "lists": (
        "no_collection_captured",
        "no_collection_captured",
        lambda folder: {"database.include.list": "elsewhere"},
    ),
    "images": (
        "pre_images_disabled",
        "pre_images_disabled",
        lambda folder: {"capture.mode": "change_streams_with_pre_image"},
    ),
}
"""Faults that degrade the running agent until an operator acts."""


@pytest.mark.usefixtures("no_broker")
@pytest.mark.parametrize("name", HEALS)
def test_check_fault_degrades_the_running_agent(tmp_path: Path, hosts: str, name: str) -> None:
    code, condition, make = HEALS[name]
    port, path = configured(tmp_path, hosts, make(tmp_path))
    exit_code, faults = checked(path)
    assert exit_code == 1
    assert [each["code"] for each in faults] == [code]
    with running(path, port) as health:

        def is_shown() -> bool:
            status, codes = health()
            return status == 503 and condition in codes and "starting" not in codes

        wait_until(is_shown, f"the condition {condition}")


def test_recovered_registry_fault_leaves_health(tmp_path: Path, hosts: str) -> None:
    with FakeRegistry() as registry:
        registry.mood = lambda method, subject: (503, {"message": "not yet"})
        port, path = configured(tmp_path, hosts, {**AVRO, URL: registry.url})
        with running(path, port) as health:
            expected = ["schema_registry_unavailable"]
            wait_until(lambda: health()[1] == expected, "the condition")
            registry.mood = lambda method, subject: None
            wait_until(lambda: health()[0] == 200, "an agent that is ok")


def test_check_passes_while_its_agent_runs(tmp_path: Path, hosts: str) -> None:
    port, path = configured(tmp_path, hosts, {})
    with running(path, port) as health:
        wait_until(lambda: health()[0] == 200, "an agent that is ok")
        assert checked(path) == (0, [])
        other = tmp_path / "others"
        other.mkdir()
        exit_code, faults = checked(path, "--set", f"offset.backing.store.dir={other}")
        assert (exit_code, [each["code"] for each in faults]) == (1, ["http_address_in_use"])


def test_check_and_run_report_a_missing_privilege(tmp_path: Path, hosts: str) -> None:
    path = configuration(tmp_path, hosts, FINDER, {"access.denied.action": "exit"})
    exit_code, faults = checked(path)
    assert exit_code == 1
    assert {"privilege_missing", "stream_not_open"} <= {each["code"] for each in faults}
    (stream,) = (each for each in faults if each["code"] == "stream_not_open")
    ran = mongo_agent("run", "--config", path)
    assert ran.exit_code == 4
    reason = "not authorized on admin"
    assert reason in stream["message"]
    assert reason in ran.errors
    assert f"Run `mongo-agent --config {path} check`" in ran.errors
    assert "Traceback" not in ran.errors


def test_invalid_configuration_is_reported_as_json(tmp_path: Path, hosts: str) -> None:
    path = configuration(tmp_path, hosts, CDC, {"http.port": "eighty"})
    exit_code, faults = checked(path)
    assert exit_code == 2
    assert [each["code"] for each in faults] == ["configuration_invalid"]
