"""HTTP requests that need the token, and requests that do not."""

from pathlib import Path

import pytest
from flask import Blueprint, Response
from flask.testing import FlaskClient

from sidecar.errors import ConfigError
from sidecar.http.server import HttpServer, create_app
from sidecar.http.token import only_reads
from tests.support.agents.fake_status import HOST, FakeStatus


def pages() -> Blueprint:
    found = Blueprint("pages", __name__)

    @found.post("/change")
    def change() -> Response:
        return Response("done")

    @found.post("/look")
    @only_reads
    def look() -> Response:
        return Response("seen")

    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("tök-1\n")
    return file


@pytest.fixture
def client(file: Path) -> FlaskClient:
    return create_app(FakeStatus(), [pages()], file).test_client()


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_read_requests_need_no_token(client: FlaskClient) -> None:
    for path in ("/ping", "/live", "/health", "/offsets", "/metrics"):
        assert client.get(path).status_code == 200
    assert client.post("/look").text == "seen"
    assert client.post("/nowhere").status_code == 401


def test_change_requests_need_the_token(client: FlaskClient, file: Path) -> None:
    file.write_text("t-1\n")
    answer = client.post("/change")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert "Authorization: Bearer" in answer.text
    assert client.post("/change", headers={"Authorization": "Basic t-1"}).status_code == 401
    assert client.post("/change", headers=bearer("t-2")).status_code == 403
    assert client.post("/change", headers=bearer("t-1")).text == "done"


def test_new_token_takes_effect_immediately(client: FlaskClient, file: Path) -> None:
    file.write_text("t-2")
    assert client.post("/change", headers=bearer("t-2")).text == "done"
    file.unlink()
    answer = client.post("/change", headers=bearer("t-2"))
    assert answer.status_code == 503
    assert str(file) in answer.text


def test_change_requests_without_token_file_are_allowed() -> None:
    assert create_app(FakeStatus(), [pages()]).test_client().post("/change").text == "done"


@pytest.mark.parametrize(("content", "part"), [(None, "cannot be read"), ("\n", "is empty")])
def test_token_file_without_token_is_a_config_error(
    tmp_path: Path, content: str | None, part: str
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=part):
        HttpServer(FakeStatus(), HOST, 0, (), file)
