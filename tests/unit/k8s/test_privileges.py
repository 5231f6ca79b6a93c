"""What pods of the manifests may do, and what of the machine and the cluster they reach."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.kubernetes.manifests import (
    K8S,
    OVERLAYS,
    POLICIES,
    WHOLE,
    objects,
    pod_of,
    properties_text,
    workloads,
)
from tests.support.kubernetes.pod_security import containers, violations

EACH = pytest.mark.parametrize("directory", WHOLE, ids=lambda each: each.name)
SPARK = sorted((K8S / "spark").glob("[!k]*.yaml"))
DAEMON_SET = "cassandra-daemonset"


def members(value: Any) -> Iterator[tuple[str, Any]]:
    """Every member of an object, at any depth."""
    if isinstance(value, dict):
        yield from value.items()
        for each in value.values():
            yield from members(each)
    elif isinstance(value, list):
        for each in value:
            yield from members(each)


@EACH
def test_pods_are_restricted(directory: Path) -> None:
    """The level `restricted`; the daemon set needs the machine's network and directory."""
    of_machine = ["host namespaces: hostNetwork", "volume types: hostPath"]
    for workload in workloads(directory):
        pod = pod_of(workload)
        assert violations(pod) == (of_machine if directory.name == DAEMON_SET else [])
        assert "shareProcessNamespace" not in pod
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in containers(pod):
            context = container["securityContext"]
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "runAsUser" not in context


@EACH
def test_the_machine_lends_one_directory_and_only_to_the_daemon_set(directory: Path) -> None:
    """It holds commitlog, cdc_raw and the agent's own directories. It exists: the agent makes no
    directory on a machine where the node has another one."""
    paths = [
        volume["hostPath"]
        for workload in workloads(directory)
        for volume in pod_of(workload)["volumes"]
        if "hostPath" in volume
    ]
    expected = {"path": "/var/lib/cassandra-log", "type": "Directory"}
    assert paths == ([expected] if directory.name == DAEMON_SET else [])


@EACH
def test_nothing_asks_kubernetes_for_a_right(directory: Path) -> None:
    kinds = {each["kind"] for each in objects(directory)}
    assert not kinds & {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "Secret"}
    for each in objects(directory):
        if each["kind"] == "ServiceAccount":
            assert each["automountServiceAccountToken"] is False
        if each["kind"] == "Service":
            assert each["spec"].get("type", "ClusterIP") == "ClusterIP"
            assert "externalIPs" not in each["spec"]
            # The agent's port is for monitoring, which finds pods.
            assert all(port["port"] != 8000 for port in each["spec"].get("ports", ()))


@EACH
def test_secrets_are_files_for_the_agent_alone(directory: Path) -> None:
    """Variables would be in `kubectl describe` and in every child process."""
    for workload in workloads(directory):
        pod = pod_of(workload)
        secrets = {each["name"]: each["secret"] for each in pod["volumes"] if "secret" in each}
        for secret in secrets.values():
            assert secret["defaultMode"] & 0o007 == 0
        if secrets:
            assert pod["securityContext"]["fsGroup"] == pod["securityContext"]["runAsGroup"]
        for container in containers(pod):
            assert "envFrom" not in container
            for variable in container.get("env", ()):
                assert variable.get("valueFrom", {"fieldRef": {}}).keys() == {"fieldRef"}
            for mount in container["volumeMounts"]:
                if mount["name"] in secrets:
                    assert container["name"] == "cdc"
                    assert mount["readOnly"] is True
    for line in properties_text(directory).splitlines():
        name, _, value = line.partition("=")
        if not line.startswith("#") and ("password" in name or "token" in name):
            assert "/run/secrets/cdc/" in value


def test_other_pods_reach_no_agent_with_the_example_policies() -> None:
    """Only monitoring reaches an agent's port. On the network of a machine there are no policies,
    as the manifest of the daemon set says."""
    policies = [yaml.safe_load(each.read_text())["spec"] for each in POLICIES]
    with_network = [each for each in OVERLAYS if each.name != DAEMON_SET]
    for workload in (each for directory in with_network for each in workloads(directory)):
        labels = workload["spec"]["template"]["metadata"]["labels"]
        mine = [
            policy
            for policy in policies
            if policy["podSelector"]["matchLabels"].items() <= labels.items()
        ]
        assert mine
        for policy in mine:
            assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
            for rule in policy["ingress"]:
                if any(port["port"] == 8000 for port in rule["ports"]):
                    (source,) = rule["from"]
                    names = source["namespaceSelector"]["matchLabels"]
                    assert names == {"kubernetes.io/metadata.name": "monitoring"}


@pytest.mark.parametrize("file", SPARK, ids=lambda each: each.name)
def test_spark_pods_have_no_privilege(file: Path) -> None:
    found = 0
    for document in yaml.safe_load_all(file.read_text(encoding="utf-8")):
        for name, value in members(document):
            assert name not in ("hostPath", "hostNetwork", "privileged", "hostPID", "hostIPC")
            if name in ("driver", "executor"):
                found += 1
                assert value["securityContext"] == {
                    "runAsUser": 185,
                    "runAsNonRoot": True,
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "seccompProfile": {"type": "RuntimeDefault"},
                }
    assert found == 2
