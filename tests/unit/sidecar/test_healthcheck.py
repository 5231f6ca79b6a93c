"""What a container's health check says."""

import pytest

from sidecar import healthcheck
from sidecar.http.server import HttpServer
from tests.support.fake_status import HOST, FakeStatus


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
