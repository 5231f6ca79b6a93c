"""GET /history."""

from flask import Flask

from sidecar.history.recorder import history_pages


def test_clients_share_one_cached_history_document() -> None:
    """One document per client would keep the threads from serving probes."""
    made: list[int] = []
    now_s = 100.0

    def document() -> dict[str, object]:
        made.append(1)
        return {"samples": [len(made)]}

    app = Flask("test")
    app.register_blueprint(history_pages(document, lambda: now_s))
    client = app.test_client()
    assert [client.get("/history").json for _ in range(5)] == [{"samples": [1]}] * 5
    now_s += 1
    assert [client.get("/history").json for _ in range(5)] == [{"samples": [2]}] * 5


def test_history_document_is_json() -> None:
    app = Flask("test")
    app.register_blueprint(history_pages(lambda: {"samples": [[60, None, 1.5]]}))
    answer = app.test_client().get("/history")
    assert (answer.mimetype, answer.json) == ("application/json", {"samples": [[60, None, 1.5]]})
    assert app.test_client().post("/history").status_code == 405
