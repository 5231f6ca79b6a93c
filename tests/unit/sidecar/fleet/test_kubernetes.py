"""The pods of agents, listed by an API on loopback."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from sidecar.fleet.kubernetes import PodQuery, list_pods
from sidecar.fleet.target import Target
from tests.support.agents.fake_agents import (
    HOST,
    FakeAgent,
    closed_address,
    fake_agents,
    http_answer,
)
from tests.support.servers.certificates import Authority, server_context

QUERY = PodQuery(8000, namespace="lab", selector="app=cdc")


def pod(name: str, ip: str | None, phase: str = "Running") -> dict[str, Any]:
    return {
        "metadata": {"namespace": "lab", "name": name},
        "status": {"phase": phase, **({} if ip is None else {"podIP": ip})},
    }


def path_of(api: FakeAgent, number: int = 0) -> tuple[str, dict[str, list[str]]]:
    parts = urlsplit(api.requests[number].split()[1].decode())
    return parts.path, parse_qs(parts.query)


def test_running_pods_are_targets_and_pending_pods_are_problems() -> None:
    items = [
        pod("a", "10.0.0.1"),
        pod("b", "2001:db8::1"),
        pod("c", None, "Pending"),
        pod("d", "10.0.0.4", "Succeeded"),
        pod("e", None, "Failed"),
    ]
    with fake_agents([http_answer({"items": items, "metadata": {}})]) as (api,):
        targets = list_pods(QUERY, api=f"http://{api.address}/")
    assert targets == [
        Target("lab/a", "http://10.0.0.1:8000"),
        Target("lab/b", "http://[2001:db8::1]:8000"),
        Target("lab/c", problem="the pod has no address; its phase is Pending"),
    ]
    path, parameters = path_of(api)
    assert path == "/api/v1/namespaces/lab/pods"
    assert parameters["labelSelector"] == ["app=cdc"]


def test_all_pages_of_all_namespaces_are_read() -> None:
    first = {"items": [pod("a", "10.0.0.1")], "metadata": {"continue": "token/1"}}
    second = {"items": [pod("b", "10.0.0.2")], "metadata": {}}
    with fake_agents([http_answer(first), http_answer(second)]) as (api,):
        targets = list_pods(PodQuery(8000, is_everywhere=True), api=f"http://{api.address}")
    assert [target.name for target in targets] == ["lab/a", "lab/b"]
    assert path_of(api)[0] == "/api/v1/pods"
    assert path_of(api, 1)[1]["continue"] == ["token/1"]


@pytest.mark.parametrize(
    ("answer", "error", "reason"),
    [
        (http_answer({"message": "pods is forbidden"}, 403), AccessDeniedError, "verb `list`"),
        (http_answer({"message": "Unauthorized"}, 401), AccessDeniedError, "Unauthorized"),
        (http_answer({"message": "bad selector"}, 400), UnavailableError, "bad selector"),
        (http_answer([]), UnavailableError, "no Kubernetes|not a Kubernetes"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>", UnavailableError, "not JSON"),
    ],
)
def test_kubernetes_rejection_is_reported_with_its_cause(
    answer: bytes, error: type[Exception], reason: str
) -> None:
    with fake_agents([answer]) as (api,), pytest.raises(error, match=reason):
        list_pods(QUERY, api=f"http://{api.address}")


def test_unreachable_kubernetes_api_is_unavailable() -> None:
    with pytest.raises(UnavailableError, match="Connection refused"):
        list_pods(QUERY, api=f"http://{closed_address()}")


def test_config_error_outside_a_pod_contains_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="kubectl proxy"):
        list_pods(QUERY, environment={})
    inside = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "1"}
    with pytest.raises(ConfigError, match="automountServiceAccountToken"):
        list_pods(QUERY, account=tmp_path, environment=inside)


def test_namespace_defaults_to_service_account(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("prod\n")
    with fake_agents([http_answer({"items": []})]) as (api,):
        assert list_pods(PodQuery(8000), api=f"http://{api.address}", account=tmp_path) == []
    assert path_of(api)[0] == "/api/v1/namespaces/prod/pods"
    with pytest.raises(ConfigError, match="--namespace"):
        list_pods(PodQuery(8000), api="http://127.0.0.1:1", account=tmp_path / "none")


def test_service_account_authenticates_over_https(tmp_path: Path) -> None:
    authority = Authority()
    authority.pem(tmp_path / "ca.crt")
    (tmp_path / "token").write_text("a-token\n")
    (tmp_path / "namespace").write_text("lab")
    tls = server_context(tmp_path, authority.signed())
    items = {"items": [pod("a", "10.0.0.1")], "metadata": {}}
    with fake_agents([http_answer(items)], tls=tls) as (api,):
        place = {"KUBERNETES_SERVICE_HOST": HOST, "KUBERNETES_SERVICE_PORT": str(api.port)}
        targets = list_pods(PodQuery(8000), account=tmp_path, environment=place)
    assert targets == [Target("lab/a", "http://10.0.0.1:8000")]
    assert b"\r\nAuthorization: Bearer a-token\r\n" in api.requests[0]
