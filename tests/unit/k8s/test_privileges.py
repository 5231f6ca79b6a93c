"""Privileges of the manifests' pods, and the parts of the host and the cluster that they reach."""

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
    """The level is `restricted`; the daemon set needs the host's network and one directory."""
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
def test_only_daemon_set_mounts_one_host_directory(directory: Path) -> None:
    """The directory holds the commit log, cdc_raw and the agent's own directories. It must exist,
    so the agent never creates a directory where the node uses another one."""
    paths = [
        volume["hostPath"]
        for workload in workloads(directory)
        for volume in pod_of(workload)["volumes"]
        if "hostPath" in volume
    ]
    expected = {"path": "/var/lib/cassandra-log", "type": "Directory"}
    assert paths == ([expected] if directory.name == DAEMON_SET else [])


@EACH
def test_manifests_request_no_kubernetes_rights(directory: Path) -> None:
    kinds = {each["kind"] for each in objects(directory)}
    assert not kinds & {"Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "Secret"}
    for each in objects(directory):
        if each["kind"] == "ServiceAccount":
            assert each["automountServiceAccountToken"] is False
        if each["kind"] == "Service":
            assert each["spec"].get("type", "ClusterIP") == "ClusterIP"
            assert "externalIPs" not in each["spec"]
            # No Service exposes the agent's port, because monitoring selects pods.
            assert all(port["port"] != 8000 for port in each["spec"].get("ports", ()))


@EACH
def test_secrets_are_files_of_agent_container_only(directory: Path) -> None:
    """`kubectl describe` and every child process would show variables."""
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


def test_example_policies_admit_only_monitoring_to_agents() -> None:
    """Policies do not apply to the host's network, as the daemon set's manifest explains."""
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
