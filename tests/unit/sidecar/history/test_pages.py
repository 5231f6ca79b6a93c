"""GET /history."""

from flask import Flask

from sidecar.history.pages import history_pages


def test_the_document_is_json() -> None:
    app = Flask("test")
    app.register_blueprint(history_pages(lambda: {"samples": [[60, None, 1.5]]}))
    answer = app.test_client().get("/history")
    assert (answer.mimetype, answer.json) == ("application/json", {"samples": [[60, None, 1.5]]})
    assert app.test_client().post("/history").status_code == 405
