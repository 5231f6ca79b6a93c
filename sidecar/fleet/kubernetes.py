"""Lists the agents' pods through the Kubernetes API, with this pod's service account."""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from sidecar.bounded_json import bounded_json
from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from sidecar.fleet.report import part_of
from sidecar.fleet.request import Access, get, printable
from sidecar.fleet.target import MAX_TARGETS, Target
from sidecar.http.address import url_host
from sidecar.tls.store_file import client_context

DEFAULT_SELECTOR = "cdc-sidecar/agent"
"""The label of every pod with an agent, including pods from recipes and snippets."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TIMEOUT_S = 30.0
_PAGE = 50
_MAX_PAGE_BYTES = 16 << 20
_MAX_PAGE_VALUES = 500_000
_MAX_TEXT = 300
_FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class PodQuery:
    port: int
    namespace: str | None = None
    """None: the namespace of the service account."""
    is_everywhere: bool = False
    """Whether to list all namespaces."""
    selector: str = DEFAULT_SELECTOR


def list_pods(
    query: PodQuery,
    *,
    api: str | None = None,
    account: Path = SERVICE_ACCOUNT,
    environment: Mapping[str, str] | None = None,
) -> list[Target]:
    """Return a target for each unfinished pod. A pod without an address has a problem, not a URL.

    `api` is the URL of the API, such as the address of `kubectl proxy`; it defaults to this
    cluster's API. Raises ConfigError outside a pod, AccessDeniedError without the right to list
    pods, and UnavailableError if the API does not answer.
    """
    environment = os.environ if environment is None else environment
    url = api.rstrip("/") if api is not None else _cluster_api(environment)
    access = _access(account) if url.startswith("https:") else Access()
    pods = _pods(url, access, query, account)
    return [target for pod in pods if (target := _target(pod, query)) is not None]


def _cluster_api(environment: Mapping[str, str]) -> str:
    host = environment.get("KUBERNETES_SERVICE_HOST")
    if not host:
        raise ConfigError(
            "--kubernetes: this is not a pod (KUBERNETES_SERVICE_HOST is not set). Run it in one, "
            "or start `kubectl proxy` and add --kubernetes-api http://127.0.0.1:8001."
        )
    return f"https://{url_host(host)}:{environment.get('KUBERNETES_SERVICE_PORT', '443')}"


def _access(account: Path) -> Access:
    token, authority = account / "token", account / "ca.crt"
    headers = {}
    try:
        headers["Authorization"] = f"Bearer {token.read_text(encoding='utf-8').strip()}"
        has_authority = authority.exists()
        tls = client_context(cafile=str(authority) if has_authority else None)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"--kubernetes: the token of the service account cannot be used: {error}. Set "
            "automountServiceAccountToken of the pod."
        ) from error
    return Access(headers, tls)


def _pods(url: str, access: Access, query: PodQuery, account: Path) -> Iterator[dict[str, Any]]:
    path = "/api/v1/pods"
    if not query.is_everywhere:
        path = f"/api/v1/namespaces/{quote(_namespace(query, account), safe='')}/pods"
    parameters = {"labelSelector": query.selector, "limit": str(_PAGE)}
    listed = 0
    while listed < MAX_TARGETS:
        page = _page(f"{url}{path}?{urlencode(parameters)}", access)
        items = page.get("items")
        found = [pod for pod in items if isinstance(pod, dict)] if isinstance(items, list) else []
        yield from found
        listed += len(found)
        following = part_of(page, "metadata").get("continue")
        if not following:
            return
        parameters["continue"] = str(following)


def _namespace(query: PodQuery, account: Path) -> str:
    if query.namespace is not None:
        return query.namespace
    try:
        return (account / "namespace").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise ConfigError("--kubernetes: the namespace is not known. Add --namespace.") from error


def _page(url: str, access: Access) -> dict[str, Any]:
    place = url.partition("?")[0]
    try:
        answer = get(url, time.monotonic() + _TIMEOUT_S, access, _MAX_PAGE_BYTES)
        document = bounded_json(answer.body, _MAX_PAGE_BYTES, _MAX_PAGE_VALUES)
    except (OSError, ValueError) as error:
        reason = str(error) if isinstance(error, OSError) else "the answer is not JSON"
        raise UnavailableError(
            f"The Kubernetes API at {place} does not answer: {reason}."
        ) from error
    if not isinstance(document, dict):
        raise UnavailableError(f"The server at {place} is not a Kubernetes API.")
    if answer.status == 200:
        return document
    message = printable(str(document.get("message", "no reason"))[:_MAX_TEXT])
    reason = f"HTTP {answer.status}: {message}"
    if answer.status in (401, 403):
        raise AccessDeniedError(
            f"The Kubernetes API denies access: {reason}. Bind a role with the verb `list` on "
            "`pods` to the service account."
        )
    raise UnavailableError(f"The Kubernetes API at {place} rejects the request: {reason}.")


def _target(pod: Mapping[str, Any], query: PodQuery) -> Target | None:
    metadata, status = part_of(pod, "metadata"), part_of(pod, "status")
    name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    phase, address = status.get("phase"), status.get("podIP")
    if phase in _FINISHED:
        return None
    if not isinstance(address, str) or not address:
        return Target(name, problem=f"the pod has no address; its phase is {phase}")
    return Target(name, f"http://{url_host(address)}:{query.port}")
