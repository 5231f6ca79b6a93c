"""What is applied is what Kubernetes knows, and fits together and to the agents."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from agent.config.loader import load_config as load_cassandra
from mongo_agent.config.loading import load_config as load_mongo
from tests.support.kustomize import Object
from tests.support.manifests import (
    K8S,
    OVERLAYS,
    REPOSITORY,
    objects,
    pod_of,
    properties_text,
    workloads,
)

PROMETHEUS = (K8S / "monitoring" / "rules", K8S / "monitoring" / "scrape")
RELEASES = ("1.30", "1.34", "1.37")
"""Of Kubernetes, whose schemas are asked."""
ROUTES = {"/ping", "/live", "/ready", "/metrics"}
VERSION = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
# Of resources that come with operators there is no schema: what they may have, as far as we use it.
POD_MONITOR = {"namespaceSelector", "selector", "podMetricsEndpoints"}
ENDPOINT = {"port", "path", "interval"}


def agents(directory: Path) -> Iterator[tuple[Object, Object]]:
    """Each agent's container with its workload."""
    for workload in workloads(directory):
        for container in pod_of(workload)["containers"]:
            if container["name"] == "cdc":
                yield workload, container


def property_of(directory: Path, name: str) -> str:
    lines = properties_text(directory).splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith(f"{name}="))


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("directory", OVERLAYS, ids=lambda each: each.name)
def test_kubernetes_knows_every_field(directory: Path, release: str) -> None:
    for each in objects(directory):
        kubernetes_validate.validate(each, release, strict=True)


@pytest.mark.parametrize("directory", OVERLAYS, ids=lambda each: each.name)
def test_the_configuration_is_one_that_the_agent_takes(directory: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    text = properties_text(directory)
    for name in ("username", "password"):
        assert f"/run/secrets/cdc/{name}" in text
        text = text.replace(f"/run/secrets/cdc/{name}", str(secret))
    # Others reach the port, so what changes something takes a token.
    assert "http.token.file=/run/secrets/cdc/http-token" in text
    path = tmp_path / "cdc.properties"
    path.write_text(text)
    if directory.name == "mongo":
        assert not load_mongo([path]).warnings
    else:
        assert not load_cassandra([path]).warnings


@pytest.mark.parametrize("directory", OVERLAYS, ids=lambda each: each.name)
def test_an_agent_is_asked_where_it_answers(directory: Path) -> None:
    found = list(agents(directory))
    assert found
    for workload, container in found:
        (port,) = container["ports"]
        assert port == {"name": "cdc-http", "containerPort": 8000}
        assert property_of(directory, "http.port") == str(port["containerPort"])
        probes = {name: each["httpGet"] for name, each in container.items() if "Probe" in name}
        assert {each["port"] for each in probes.values()} == {port["name"]}
        assert {each["path"] for each in probes.values()} <= ROUTES
        assert probes["livenessProbe"]["path"] == "/live"
        # Beside a node it must not take that out of service.
        is_beside = len(pod_of(workload)["containers"]) > 1
        assert ("readinessProbe" in probes) != is_beside
        assert container["args"][:2] == ["run", "--config"]
        assert container["image"].endswith(f":{VERSION}")


@pytest.mark.parametrize("directory", OVERLAYS, ids=lambda each: each.name)
def test_pods_hang_together(directory: Path) -> None:
    names = {(each["kind"], each["metadata"]["name"]) for each in objects(directory)}
    for workload in workloads(directory):
        spec, pod = workload["spec"], pod_of(workload)
        labels = spec["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"].items() <= labels.items()
        assert labels["app.kubernetes.io/part-of"] == "cdc-sidecar"
        claims = {each["metadata"]["name"] for each in spec.get("volumeClaimTemplates", ())}
        volumes = {each["name"]: each for each in pod["volumes"]}
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            mounted = {each["name"] for each in container["volumeMounts"]}
            assert mounted <= claims | volumes.keys()
        for volume in volumes.values():
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in names
        assert ("ServiceAccount", pod["serviceAccountName"]) in names
        assert pod["terminationGracePeriodSeconds"] > 20 + 10


@pytest.mark.parametrize("directory", OVERLAYS, ids=lambda each: each.name)
def test_agents_may_do_nothing_that_they_need_not(directory: Path) -> None:
    for workload, agent in agents(directory):
        pod = pod_of(workload)
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        ours = [each for each in pod.get("initContainers", ()) if each["name"].startswith("cdc")]
        for container in (agent, *ours):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert "memory" in container["resources"]["limits"]
            assert "cpu" not in container["resources"]["limits"]


@pytest.mark.parametrize("directory", OVERLAYS, ids=lambda each: each.name)
def test_every_directory_is_on_a_volume(directory: Path) -> None:
    for workload, container in agents(directory):
        writable = [each for each in container["volumeMounts"] if not each.get("readOnly")]
        (mount,) = writable
        names = ["offset.backing.store.dir"]
        if directory.name != "mongo":
            names += ["cdc.raw.directory", "commit.log.relocation.dir"]
        for name in names:
            path = Path(property_of(directory, name))
            assert path.is_relative_to(mount["mountPath"])
            for first in pod_of(workload).get("initContainers", ()):
                assert str(path) in first["args"]


def test_the_example_node_writes_where_the_agent_reads() -> None:
    directory = K8S / "overlays" / "cassandra-statefulset"
    (workload,) = workloads(directory)
    node = next(each for each in pod_of(workload)["containers"] if each["name"] == "cassandra")
    script = node["command"][-1]
    assert f"cdc_raw_directory: {property_of(directory, 'cdc.raw.directory')}" in script
    log = next(each for each in node["volumeMounts"] if each["name"] == "log")
    assert f"commitlog_directory: {log['mountPath']}/" in script
    assert pod_of(workload)["securityContext"]["fsGroup"] == 999


@pytest.mark.parametrize("directory", OVERLAYS, ids=lambda each: each.name)
def test_policies_and_budgets_are_of_pods_that_there_are(directory: Path) -> None:
    pods = [each["spec"]["template"]["metadata"]["labels"] for each in workloads(directory)]
    for each in objects(directory):
        if each["kind"] in ("NetworkPolicy", "PodDisruptionBudget"):
            key = "podSelector" if each["kind"] == "NetworkPolicy" else "selector"
            wanted = each["spec"][key]["matchLabels"]
            assert any(wanted.items() <= labels.items() for labels in pods)


def test_monitors_find_every_agent() -> None:
    monitors = [each for each in objects(K8S / "monitoring") if each["kind"] == "PodMonitor"]
    selectors = {}
    for monitor in monitors:
        assert monitor["spec"].keys() == POD_MONITOR
        (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
        assert endpoint.keys() == ENDPOINT
        assert (endpoint["port"], endpoint["path"]) == ("cdc-http", "/metrics")
        selectors[monitor["metadata"]["name"]] = monitor["spec"]["selector"]["matchLabels"]
    # The alarm of an agent that is away knows its job by this name.
    assert selectors.keys() == {"cdc-cassandra", "cdc-mongo"}
    for directory in OVERLAYS:
        for workload, _ in agents(directory):
            labels: dict[str, Any] = workload["spec"]["template"]["metadata"]["labels"]
            assert any(wanted.items() <= labels.items() for wanted in selectors.values())


def test_faults_are_found() -> None:
    (workload,) = workloads(K8S / "overlays" / "mongo")
    workload["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(workload, RELEASES[-1], strict=True)


def test_every_manifest_is_part_of_a_kustomization() -> None:
    listed: set[Path] = set()
    for path in K8S.rglob("kustomization.yaml"):
        kustomization = yaml.safe_load(path.read_text(encoding="utf-8"))
        named = [
            *kustomization["resources"],
            *(each["path"] for each in kustomization.get("patches", ())),
        ]
        listed |= {(path.parent / each).resolve() for each in named}
    there = {path for path in K8S.rglob("*.yaml") if path.name != "kustomization.yaml"}
    # Files of Prometheus.
    there = {path for path in there if path.parent not in PROMETHEUS}
    # In place of the continuous ones, by choice.
    scheduled = {path for path in there if path.name.endswith("-scheduled.yaml")}
    assert there - listed == scheduled
