"""Manifests, recipes and chart on a real API server, with the workload controllers.

Server-side apply validates objects strictly. Namespaces enforce Pod Security, so the controllers
cannot create a pod that violates its level. Run by `make kubernetes-check`.
"""

import copy
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.support.kubernetes.cluster import KubernetesCluster, KubernetesError, kubernetes_cluster
from tests.support.kubernetes.kustomize import Object
from tests.support.kubernetes.manifests import (
    K8S,
    OVERLAYS,
    OWN_STATEFULSET,
    POLICIES,
    WORKLOADS,
    objects,
    pod_of,
)
from tests.support.kubernetes.operators import config_map, resource, stateful_set

CHART = str(K8S / "chart")
RECIPES = ("bitnami", "cass-operator", "k8ssandra", "mongodb-community", "percona-mongodb")
HOSTED = "cassandra-daemonset"
NODES = {"machine-1", "machine-2"}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubernetesCluster]:
    server = shutil.which("kube-apiserver")
    assert server is not None, "run make kubernetes-check"
    with kubernetes_cluster(Path(server).parent, tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.define(Path(server).parent / "definitions")
        for name in NODES:
            cluster.node(name, {"cassandra-node": "true"})
        yield cluster


def in_namespace(found: list[Object], namespace: str) -> list[Object]:
    """The objects in a namespace of the test."""
    moved = [copy.deepcopy(each) for each in found if each["kind"] != "Namespace"]
    for each in moved:
        each["metadata"]["namespace"] = namespace
    return moved


def rolled_out(cluster: KubernetesCluster, namespace: str, workload: Object) -> bool:
    """Whether every pod has the last applied template and is ready."""
    kind, name = workload["kind"], workload["metadata"]["name"]
    (found,) = cluster.get(kind, namespace, name)
    status = found["status"]
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return False
    if kind == "DaemonSet":
        wanted = status["desiredNumberScheduled"]
        return bool(
            wanted == len(NODES)
            and status.get("updatedNumberScheduled") == wanted
            and status.get("numberReady") == wanted
        )
    wanted = found["spec"]["replicas"]
    return bool(
        status.get("updatedReplicas", status.get("currentReplicas")) == wanted
        and status.get("readyReplicas") == wanted
        # Deployments are tracked by their pods, StatefulSets by their revisions.
        and status.get("replicas") == wanted
        and status.get("updateRevision") == status.get("currentRevision")
    )


def deploy(cluster: KubernetesCluster, namespace: str, found: list[Object]) -> None:
    """Apply the objects and wait until every workload is rolled out."""
    cluster.apply(found)
    for each in found:
        if each["kind"] in WORKLOADS:
            name = each["metadata"]["name"]
            cluster.wait(namespace, name, partial(rolled_out, cluster, namespace, each))


def images(cluster: KubernetesCluster, namespace: str) -> set[str]:
    return {
        container["image"]
        for pod in cluster.get("pods", namespace)
        if "deletionTimestamp" not in pod["metadata"]
        for container in pod["spec"]["containers"]
        if container["name"] == "cdc"
    }


def level(directory: Path) -> str:
    return "privileged" if directory.name == HOSTED else "restricted"


@pytest.mark.parametrize("directory", [*OVERLAYS, OWN_STATEFULSET], ids=lambda each: each.name)
def test_overlay_pods_run_at_their_pod_security_level(
    cluster: KubernetesCluster, directory: Path
) -> None:
    namespace = f"new-{directory.name}"
    cluster.namespace(namespace, level(directory))
    deploy(cluster, namespace, in_namespace(objects(directory), namespace))
    assert images(cluster, namespace)


@pytest.mark.parametrize("name", RECIPES)
def test_recipe_pods_run_with_the_agent(cluster: KubernetesCluster, name: str) -> None:
    namespace = f"recipe-{name}"
    cluster.namespace(namespace, "restricted")
    found = in_namespace([config_map(name), stateful_set(name)], namespace)
    deploy(cluster, namespace, found)
    assert images(cluster, namespace)
    # The pod index decides which pod of a replica set runs the agent.
    indexes = {
        pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"]
        for pod in cluster.get("pods", namespace)
    }
    assert indexes == {"0", "1"}


def test_unrestricted_pod_is_rejected(cluster: KubernetesCluster) -> None:
    """Proves that the cluster enforces the levels, on which the tests above depend."""
    cluster.namespace("control", "restricted")
    (workload,) = (each for each in objects(OWN_STATEFULSET) if each["kind"] == "StatefulSet")
    pod = copy.deepcopy(pod_of(workload))
    del pod["containers"][0]["securityContext"]["capabilities"]
    pod["volumes"].append({"name": "cassandra-data", "emptyDir": {}})
    metadata = {"name": "pod", "namespace": "control"}
    with pytest.raises(KubernetesError, match="unrestricted capabilities"):
        cluster.apply([{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod}])


def test_server_rejects_unknown_fields_and_changed_claims(
    cluster: KubernetesCluster,
) -> None:
    directory = next(each for each in OVERLAYS if each.name == "mongo")
    cluster.namespace("immutable", "restricted")
    found = in_namespace(objects(directory), "immutable")
    cluster.apply(found)
    (workload,) = (each for each in found if each["kind"] == "StatefulSet")
    claim = workload["spec"]["volumeClaimTemplates"][0]["spec"]
    claim["resources"]["requests"]["storage"] = "5Gi"
    with pytest.raises(KubernetesError, match=r"field is immutable|Forbidden"):
        cluster.apply([workload])
    with pytest.raises(KubernetesError, match="replica"):
        cluster.apply([workload | {"spec": workload["spec"] | {"replica": 1}}])


@pytest.mark.parametrize("file", POLICIES, ids=lambda each: each.stem)
def test_server_accepts_the_example_policies(cluster: KubernetesCluster, file: Path) -> None:
    cluster.namespace("policies", "restricted")
    cluster.apply(in_namespace([yaml.safe_load(file.read_text())], "policies"))


def test_server_accepts_monitors_and_alarms(cluster: KubernetesCluster) -> None:
    cluster.namespace("watched", "restricted")
    kinds = {"PodMonitor", "PrometheusRule", "ConfigMap"}
    found = [each for each in objects(K8S / "monitoring") if each["kind"] in kinds]
    assert len(found) > len(kinds)
    cluster.apply(in_namespace(found, "watched"))


def test_server_accepts_the_mongodb_custom_resource(cluster: KubernetesCluster) -> None:
    cluster.namespace("operated", "restricted")
    found = in_namespace([resource("mongodb-community")], "operated")
    cluster.apply(found)
    found[0]["spec"]["member"] = 3
    with pytest.raises(KubernetesError, match="member"):
        cluster.apply(found)


def test_server_accepts_the_namespaces_of_the_overlays(cluster: KubernetesCluster) -> None:
    for directory in OVERLAYS:
        for each in objects(directory):
            if each["kind"] == "Namespace":
                cluster.apply([each])


@pytest.mark.parametrize(
    ("mode", "kind", "pod_security"),
    [
        ("cassandra.mode=daemonset", "DaemonSet", "privileged"),
        ("mongo.mode=statefulset", "StatefulSet", "restricted"),
        ("mongo.mode=deployment", "Deployment", "restricted"),
    ],
)
def test_helm_installs_upgrades_and_rolls_back(
    cluster: KubernetesCluster, mode: str, kind: str, pod_security: str
) -> None:
    agent = mode.partition(".")[0]
    namespace = f"helm-{agent}-{kind.lower()}"
    cluster.namespace(namespace, pod_security)
    watched = "podMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true"
    options = (CHART, "-n", namespace, "--set", mode, "--set", watched)
    cluster.helm("install", "cdc", *options)
    (workload,) = cluster.get(kind, namespace)
    ready = f"{kind} of the chart"
    cluster.wait(namespace, ready, lambda: rolled_out(cluster, namespace, workload))
    first = images(cluster, namespace)
    more = ("--set", f"{agent}.image.tag=next", "--set", rf"{agent}.properties.topic\.prefix=new")
    cluster.helm("upgrade", "cdc", *options, *more)
    cluster.wait(
        namespace,
        ready,
        lambda: (
            rolled_out(cluster, namespace, workload)
            and images(cluster, namespace) == {f"cdc-sidecar-{agent}:next"}
        ),
    )
    cluster.helm("rollback", "cdc", "1", "-n", namespace)
    cluster.wait(
        namespace,
        ready,
        lambda: rolled_out(cluster, namespace, workload) and images(cluster, namespace) == first,
    )
    cluster.helm("uninstall", "cdc", "-n", namespace)
    assert [each for each in cluster.get(kind, namespace) if "name" in each["metadata"]] == []


@pytest.mark.parametrize("values", ["snippet", "mongo-snippet"])
def test_stateful_set_with_chart_snippets_runs(cluster: KubernetesCluster, values: str) -> None:
    namespace = f"values-{values}"
    cluster.namespace(namespace, "restricted")
    file = str(K8S / "chart" / "ci" / f"{values}-values.yaml")
    cluster.helm("install", "cdc", CHART, "-n", namespace, "-f", file)
    (data,) = (
        each["data"]
        for each in cluster.get("configmaps", namespace)
        if each["metadata"]["name"].endswith("-snippet")
    )
    parts = {name: yaml.safe_load(text) for name, text in data.items()}
    template = stateful_set("cass-operator" if values == "snippet" else "percona-mongodb")
    (moved,) = in_namespace([template], namespace)
    pod = moved["spec"]["template"]["spec"]
    node = [each for each in pod["containers"] if each["name"] != "cdc"]
    pod["containers"] = [*node, *parts["containers.yaml"]]
    pod["volumes"] = parts["volumes.yaml"]
    moved["spec"]["template"]["metadata"]["labels"] |= parts["labels.yaml"]
    moved["spec"]["template"]["metadata"]["annotations"] = parts["annotations.yaml"]
    deploy(cluster, namespace, [moved])
