"""The manifests are valid Kubernetes objects that match each other and the agents."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from sidecar.fleet.kubernetes import DEFAULT_SELECTOR
from tests.support.kubernetes.kustomize import Object
from tests.support.kubernetes.manifests import (
    K8S,
    OVERLAYS,
    OWN_STATEFULSET,
    POLICIES,
    REPOSITORY,
    WHOLE,
    objects,
    pod_of,
    properties_text,
    workloads,
)

pytestmark = pytest.mark.heavy

PROMETHEUS = {K8S / "monitoring" / name for name in ("prometheus.yaml", "rules", "scrape")}
RELEASES = ("1.30", "1.34", "1.37")
"""Kubernetes releases whose schemas validate the manifests."""
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
# Operators' resources have no schema here; these are the members that the manifests may use.
POD_MONITOR = {"namespaceSelector", "selector", "podMetricsEndpoints"}
ENDPOINT = {"port", "path", "interval", "relabelings"}


def agents(directory: Path) -> Iterator[tuple[Object, Object]]:
    """Each agent's container with its workload."""
    for workload in workloads(directory):
        for container in pod_of(workload)["containers"]:
            if container["name"] == "cdc":
                yield workload, container


def property_of(directory: Path, name: str) -> str:
    lines = properties_text(directory).splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith(f"{name}="))


def made_directories(workload: Object, agent: Object) -> set[str]:
    """Directories that the pod creates before the agent starts."""
    first = [each for item in pod_of(workload).get("initContainers", ()) for each in item["args"]]
    own = [each.removeprefix("--mkdir=") for each in agent["args"] if each.startswith("--mkdir=")]
    return {*first, *own}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("directory", WHOLE, ids=lambda each: each.name)
def test_manifest_fields_are_known_to_kubernetes(directory: Path, release: str) -> None:
    for each in objects(directory):
        kubernetes_validate.validate(each, release, strict=True)


@pytest.mark.parametrize("file", POLICIES, ids=lambda each: each.stem)
def test_policy_fields_are_known_to_kubernetes(file: Path) -> None:
    for release in RELEASES:
        kubernetes_validate.validate(yaml.safe_load(file.read_text()), release, strict=True)


@pytest.mark.parametrize("directory", WHOLE, ids=lambda each: each.name)
def test_logins_and_http_token_are_read_from_files(directory: Path) -> None:
    """`test_properties.py` checks the property files with the agents."""
    text = properties_text(directory)
    for name in ("username", "password"):
        assert f"/run/secrets/cdc/{name}" in text
    # Other pods reach the port, so a request that changes state requires a token.
    assert "http.token.file=/run/secrets/cdc/http-token" in text


@pytest.mark.parametrize("directory", WHOLE, ids=lambda each: each.name)
def test_probes_use_port_and_paths_of_agent(directory: Path) -> None:
    found = list(agents(directory))
    assert found
    for workload, container in found:
        (port,) = container["ports"]
        assert port == {"name": "cdc-http", "containerPort": 8000}
        assert property_of(directory, "http.host") == "*"
        assert "http.port=" not in properties_text(directory) or property_of(
            directory, "http.port"
        ) == str(port["containerPort"])
        probes = {name: each["httpGet"] for name, each in container.items() if "Probe" in name}
        assert container["image"].endswith(f":{VERSION}")
        if len(pod_of(workload)["containers"]) > 1:
            # A failing probe or an exiting agent would make the node's pod unready.
            assert not probes
            assert container["command"][-1] == "sidecar.supervisor"
            continue
        assert {each["port"] for each in probes.values()} == {port["name"]}
        paths = {name: each["path"] for name, each in probes.items()}
        assert paths == {
            "startupProbe": "/ping",
            "livenessProbe": "/live",
            "readinessProbe": "/ready",
        }
        assert container["args"][:2] == ["run", "--config"]


@pytest.mark.parametrize("directory", WHOLE, ids=lambda each: each.name)
def test_pod_references_resolve(directory: Path) -> None:
    names = {(each["kind"], each["metadata"]["name"]) for each in objects(directory)}
    for workload in workloads(directory):
        spec, pod = workload["spec"], pod_of(workload)
        labels = spec["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"].items() <= labels.items()
        assert DEFAULT_SELECTOR in labels
        if directory in OVERLAYS:
            assert labels["app.kubernetes.io/part-of"] == "cdc-sidecar"
        claims = {each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", ())}
        volumes = {each["name"]: each for each in pod["volumes"]}
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            mounted = {each["name"] for each in container["volumeMounts"]}
            assert mounted <= claims | volumes.keys()
        for volume in volumes.values():
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in names
        if directory in OVERLAYS:
            assert ("ServiceAccount", pod["serviceAccountName"]) in names
        assert pod["terminationGracePeriodSeconds"] > 20 + 10


@pytest.mark.parametrize("directory", WHOLE, ids=lambda each: each.name)
def test_agents_run_with_least_privileges(directory: Path) -> None:
    """`test_privileges.py` checks the security contexts of the containers."""
    for workload, agent in agents(directory):
        pod = pod_of(workload)
        if directory in OVERLAYS:
            assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsUser"] > 0
        ours = [each for each in pod.get("initContainers", ()) if each["name"].startswith("cdc")]
        for container in (agent, *ours):
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert "memory" in container["resources"]["limits"]
            assert "cpu" not in container["resources"]["limits"]


@pytest.mark.parametrize("directory", WHOLE, ids=lambda each: each.name)
def test_agent_directories_are_on_volumes(directory: Path) -> None:
    for workload, container in agents(directory):
        writable = [each for each in container["volumeMounts"] if not each.get("readOnly")]
        (mount,) = writable
        names = ["offset.backing.store.dir"]
        if not directory.name.startswith("mongo"):
            names += ["cdc.raw.directory", "commit.log.relocation.dir"]
        for name in names:
            path = Path(property_of(directory, name))
            assert path.is_relative_to(mount["mountPath"])
            if name != "cdc.raw.directory" and not directory.name.startswith("mongo"):
                # The node creates cdc_raw.
                assert str(path) in made_directories(workload, container)


def test_example_node_writes_to_directory_of_agent() -> None:
    directory = K8S / "overlays" / "cassandra-statefulset"
    (workload,) = workloads(directory)
    node = next(each for each in pod_of(workload)["containers"] if each["name"] == "cassandra")
    script = node["command"][-1]
    assert f"cdc_raw_directory: {property_of(directory, 'cdc.raw.directory')}" in script
    log = next(each for each in node["volumeMounts"] if each["name"] == "log")
    assert f"commitlog_directory: {log['mountPath']}/" in script
    assert pod_of(workload)["securityContext"]["fsGroup"] == 999


@pytest.mark.parametrize("directory", WHOLE, ids=lambda each: each.name)
def test_node_heap_is_at_most_half_of_memory(directory: Path) -> None:
    """Without MAX_HEAP_SIZE Cassandra derives the heap from the machine's memory."""
    for workload in workloads(directory):
        for container in pod_of(workload)["containers"]:
            if container["name"] == "cassandra":
                heap = {each["name"]: each.get("value", "") for each in container["env"]}
                memory = container["resources"]["limits"]["memory"]
                assert 2 * int(heap["MAX_HEAP_SIZE"].removesuffix("G")) <= int(memory[:-2])
                assert heap["HEAP_NEWSIZE"]


def test_component_adds_only_agent_container() -> None:
    """The component adds no policy, budget or service account to an existing cluster. With a second
    budget for the same pods every eviction would fail."""
    kinds = [each["kind"] for each in objects(OWN_STATEFULSET)]
    assert kinds == ["Service", "StatefulSet", "ConfigMap"]
    (workload,) = workloads(OWN_STATEFULSET)
    pod = pod_of(workload)
    assert [each["name"] for each in pod["containers"]] == ["cdc", "cassandra"]
    # A node would not start while the image of an init container cannot be pulled.
    assert "initContainers" not in pod
    assert "serviceAccountName" not in pod


@pytest.mark.parametrize("directory", OVERLAYS, ids=lambda each: each.name)
def test_only_nodes_and_standby_agents_have_disruption_budget(directory: Path) -> None:
    budgets = [each for each in objects(directory) if each["kind"] == "PodDisruptionBudget"]
    assert len(budgets) == (directory.name in ("cassandra-statefulset", "mongo-standby"))
    (workload,) = workloads(directory)
    labels = workload["spec"]["template"]["metadata"]["labels"]
    for each in budgets:
        assert each["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert not [each for each in objects(directory) if each["kind"] == "NetworkPolicy"]


@pytest.mark.parametrize("file", POLICIES, ids=lambda each: each.stem)
def test_network_policy_selects_agents_and_lists_ports(file: Path) -> None:
    policy = yaml.safe_load(file.read_text())["spec"]
    (selector,) = policy["podSelector"]["matchLabels"].items()
    pods = [
        workload["spec"]["template"]["metadata"]["labels"]
        for directory in WHOLE
        for workload in workloads(directory)
    ]
    assert any(selector in labels.items() for labels in pods)
    ports = {direction: allowed(policy[direction]) for direction in ("ingress", "egress")}
    # Kafka, registry, stores, OTLP over gRPC and HTTP, DNS.
    assert {9092, 9093, 9094, 8081, 443, 4317, 4318, 53} <= ports["egress"]
    assert 8000 in ports["ingress"]
    if file.stem == "cassandra":
        node = {9042, 9142, 7000, 7001, 7199}
        # cass-operator's management API and metrics, Medusa, Bitnami's exporter.
        assert node | {8080, 9000, 9103, 50051} <= ports["ingress"]
        assert node <= ports["egress"]
    else:
        assert {27017, 27018, 27019} <= ports["egress"]


def allowed(rules: list[Object]) -> set[int]:
    return {
        number
        for rule in rules
        for port in rule["ports"]
        for number in range(port["port"], port.get("endPort", port["port"]) + 1)
    }


def test_pod_monitors_select_every_agent() -> None:
    monitors = [each for each in objects(K8S / "monitoring") if each["kind"] == "PodMonitor"]
    selectors = {}
    for monitor in monitors:
        assert monitor["spec"].keys() == POD_MONITOR
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint.keys() == ENDPOINT
        assert (endpoint["port"], endpoint["path"]) == ("cdc-http", "/metrics")
        # The alarm for an agent that never answered identifies its target by this label.
        (label,) = endpoint["relabelings"]
        assert label["targetLabel"] == "cdc_agent"
        selectors[monitor["metadata"]["name"]] = monitor["spec"]["selector"]["matchLabels"]
    assert selectors.keys() == {"cdc-cassandra", "cdc-mongo"}
    for directory in OVERLAYS:
        for workload, _ in agents(directory):
            labels: dict[str, Any] = workload["spec"]["template"]["metadata"]["labels"]
            assert any(wanted.items() <= labels.items() for wanted in selectors.values())


def test_unknown_manifest_field_is_rejected() -> None:
    (workload,) = workloads(K8S / "overlays" / "mongo")
    workload["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(workload, RELEASES[-1], strict=True)


def test_every_manifest_is_part_of_a_kustomization() -> None:
    listed: set[Path] = set()
    for path in K8S.rglob("kustomization.yaml"):
        kustomization = yaml.safe_load(path.read_text(encoding="utf-8"))
        named = [
            *kustomization.get("resources", ()),
            *(each["path"] for each in kustomization.get("patches", ())),
            *kustomization.get("configurations", ()),
        ]
        listed |= {(path.parent / each).resolve() for each in named}
    there = {path for path in K8S.rglob("*.yaml") if path.name != "kustomization.yaml"}
    # Prometheus reads these files directly.
    there = {path for path in there if not PROMETHEUS & {path, *path.parents}}
    # Optional replacements for the continuous jobs.
    scheduled = {path for path in there if path.name.endswith("-scheduled.yaml")}
    values = {K8S / "recipes" / "bitnami" / "values.yaml"}
    chart = {path for path in there if path.is_relative_to(K8S / "chart")}
    assert there - listed - chart == scheduled | values | set(POLICIES)
