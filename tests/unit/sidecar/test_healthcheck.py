"""The health check of a container."""

import pytest

from sidecar import healthcheck
from sidecar.http.server import HttpServer
from tests.support.agents.fake_agents import fake_agents
from tests.support.agents.fake_status import HOST, FakeStatus


def test_healthcheck_reports_whether_the_agent_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status = FakeStatus()
    with HttpServer(status, HOST, 0) as server:
        port = server.port
        monkeypatch.setenv("HTTP_PORT", str(port))
        assert healthcheck.main() == 0
        status.is_live = False
        assert healthcheck.main() == 1
        assert "The loop turns." in capsys.readouterr().err
    assert healthcheck.main() == 1
    assert f":{port}/live" in capsys.readouterr().err


def test_healthcheck_ignores_proxy_of_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_agents([b"HTTP/1.1 502 X\r\nContent-Length: 0\r\n\r\n"]) as (proxy,):
        for name in ("http_proxy", "HTTP_PROXY"):
            monkeypatch.setenv(name, f"http://{proxy.address}")
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        with HttpServer(FakeStatus(), HOST, 0) as server:
            monkeypatch.setenv("HTTP_PORT", str(server.port))
            assert healthcheck.live_answer() == (200, "")


@pytest.mark.parametrize("port", ["of the database", "number"])
def test_healthcheck_rejects_server_without_http(
    monkeypatch: pytest.MonkeyPatch, port: str
) -> None:
    with fake_agents([b"\x04\x00\x00\x00 not HTTP\r\n"]) as (database,):
        monkeypatch.setenv("HTTP_PORT", str(database.port) if port == "of the database" else port)
        status, reason = healthcheck.live_answer()
    assert status is None
    assert "/live: " in reason
