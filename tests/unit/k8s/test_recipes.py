"""Each recipe adds the same container to the pods that an operator or a chart creates."""

from typing import Any

import kubernetes_validate
import pytest
import yaml

from sidecar.fleet.kubernetes import DEFAULT_SELECTOR
from tests.support.kubernetes.kustomize import Object
from tests.support.kubernetes.manifests import K8S, OWN_STATEFULSET, objects, pod_of, workloads
from tests.support.kubernetes.operators import RECIPES, config_map, resource, stateful_set
from tests.support.kubernetes.pod_security import violations

CASSANDRA = ("bitnami", "cass-operator", "k8ssandra")
MONGO = ("mongodb-community", "percona-mongodb")
EACH = pytest.mark.parametrize("name", (*CASSANDRA, *MONGO))
# Members of the custom resources, as their types declare them, without Kubernetes' own types.
SPEC: dict[str, dict[str, Any]] = {
    "CassandraDatacenter": {
        "apiVersion": "cassandra.datastax.com/v1beta1",
        "spec": {
            *("clusterName", "config", "managementApiAuth", "podTemplateSpec", "racks"),
            *("serverType", "serverVersion", "size", "storageConfig", "users"),
        },
    },
    "K8ssandraCluster": {"apiVersion": "k8ssandra.io/v1alpha1", "spec": {"cassandra"}},
    "MongoDBCommunity": {
        "apiVersion": "mongodbcommunity.mongodb.com/v1",
        "spec": {"members", "security", "statefulSet", "type", "users", "version"},
    },
    "PerconaServerMongoDB": {
        "apiVersion": "psmdb.percona.com/v1",
        "spec": {"crVersion", "image", "replsets", "users"},
    },
}
OF_K8SSANDRA = {
    *("config", "containers", "datacenters", "extraVolumes", "metadata", "serverVersion"),
    "storageConfig",
}
OF_REPLSET = {
    *("annotations", "labels", "name", "podSecurityContext", "sidecars", "sidecarVolumes", "size"),
    "volumeSpec",
}


def agent_of(workload: Object) -> Object:
    (found,) = (each for each in pod_of(workload)["containers"] if each["name"] == "cdc")
    return dict(found)


def node_of(workload: Object) -> Object:
    (found,) = (each for each in pod_of(workload)["containers"] if each["name"] != "cdc")
    return dict(found)


def properties(name: str) -> dict[str, str]:
    (text,) = config_map(name)["data"].values()
    lines = (line.partition("=") for line in text.splitlines() if line and line[0] != "#")
    return {key: value for key, _, value in lines}


@EACH
def test_recipe_fields_are_known_to_kubernetes(name: str) -> None:
    for release in ("1.30", "1.34", "1.37"):
        kubernetes_validate.validate(stateful_set(name), release, strict=True)


@pytest.mark.parametrize("name", ("cass-operator", "k8ssandra", *MONGO))
def test_custom_resource_has_only_known_members(name: str) -> None:
    found = resource(name)
    known = SPEC[found["kind"]]
    assert found["apiVersion"] == known["apiVersion"]
    assert found["spec"].keys() <= known["spec"]
    if name == "k8ssandra":
        assert found["spec"]["cassandra"].keys() <= OF_K8SSANDRA
    if name == "percona-mongodb":
        assert found["spec"]["replsets"][0].keys() <= OF_REPLSET


@EACH
def test_agent_container_fits_into_pod(name: str) -> None:
    workload = stateful_set(name)
    pod, agent = pod_of(workload), agent_of(workload)
    claims = {each["metadata"]["name"] for each in workload["spec"]["volumeClaimTemplates"]}
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert {each["name"] for each in agent["volumeMounts"]} <= claims | volumes.keys()
    assert volumes["cdc-configuration"]["configMap"]["name"] == config_map(name)["metadata"]["name"]
    assert pod["terminationGracePeriodSeconds"] >= 40
    # Without probes, the agent is unready only while its process is not running.
    assert not [each for each in agent if each.endswith("Probe")]
    assert agent["command"][-1] == "sidecar.supervisor"
    # The group of the pod's volumes may read the Secret's files.
    assert volumes["cdc-secrets"]["secret"]["defaultMode"] == 0o440
    user = {**pod["securityContext"], **agent["securityContext"]}
    assert user["runAsUser"] == user["fsGroup"]


@EACH
def test_agent_is_restricted_in_every_pod(name: str) -> None:
    workload = stateful_set(name)
    pod = pod_of(workload) | {"containers": [agent_of(workload)]}
    assert violations(pod) == []
    # The container is restricted even if the pod has no security context.
    assert violations(pod | {"securityContext": {}}) == []


@pytest.mark.parametrize("name", CASSANDRA)
def test_node_and_agent_share_user_volume_and_path(name: str) -> None:
    workload = stateful_set(name)
    pod, agent, node = pod_of(workload), agent_of(workload), node_of(workload)
    of_pod = pod["securityContext"]
    of_node, of_agent = (of_pod | each["securityContext"] for each in (node, agent))
    assert of_node["runAsUser"] == of_agent["runAsUser"] == of_pod["fsGroup"]
    (mount,) = node["volumeMounts"]
    assert mount in agent["volumeMounts"]
    values = properties(name)
    (cdc_raw,) = (each["value"] for each in node["env"])
    assert values["cdc.raw.directory"] == cdc_raw
    assert cdc_raw.startswith(mount["mountPath"] + "/")
    for directory in ("commit.log.relocation.dir", "offset.backing.store.dir"):
        assert f"--mkdir={values[directory]}" in agent["args"]
        assert values[directory].startswith(mount["mountPath"] + "/")


@pytest.mark.parametrize("name", CASSANDRA)
def test_recipe_container_equals_component_container(name: str) -> None:
    (workload,) = workloads(OWN_STATEFULSET)
    expected, found = agent_of(workload), agent_of(stateful_set(name))
    data = next(each for each in found["volumeMounts"] if not each.get("readOnly"))
    path = data["mountPath"]
    found["args"] = [each.replace(path, "/var/lib/cassandra") for each in found["args"]]
    found["volumeMounts"] = [
        {"name": "cassandra-data", "mountPath": "/var/lib/cassandra"} if each == data else each
        for each in found["volumeMounts"]
    ]
    users = {"runAsUser", "runAsGroup"}
    found["securityContext"] = {
        key: value for key, value in found["securityContext"].items() if key not in users
    }
    assert found == expected


@pytest.mark.parametrize("name", MONGO)
def test_one_pod_of_replica_set_runs_agent(name: str) -> None:
    agent = agent_of(stateful_set(name))
    assert agent["args"][:2] == ["--only-pod-index=0", "mongo-agent"]
    (variable,) = agent["env"]
    assert variable["name"] == "POD_INDEX"
    field = variable["valueFrom"]["fieldRef"]["fieldPath"]
    assert field == "metadata.labels['apps.kubernetes.io/pod-index']"
    # The position outlives the pod.
    assert properties(name)["position.store"] == "kafka"


def test_mongod_sidecar_containers_differ_only_in_user() -> None:
    """They share image, ports and resources with the agent in a separate pod."""
    community, percona = (agent_of(stateful_set(name)) for name in MONGO)
    users = {"runAsUser": 1001, "runAsGroup": 1001}
    assert percona == community | {"securityContext": community["securityContext"] | users}
    assert properties(MONGO[0]) == properties(MONGO[1])
    (workload,) = workloads(K8S / "overlays" / "mongo")
    alone = agent_of(workload)
    for member in ("image", "ports", "resources"):
        assert community[member] == alone[member]


@EACH
def test_fleet_and_pod_monitors_select_agent(name: str) -> None:
    labels = stateful_set(name)["spec"]["template"]["metadata"]["labels"]
    assert DEFAULT_SELECTOR in labels
    monitors = [each for each in objects(K8S / "monitoring") if each["kind"] == "PodMonitor"]
    selectors = [each["spec"]["selector"]["matchLabels"] for each in monitors]
    assert any(wanted.items() <= labels.items() for wanted in selectors)


def test_every_recipe_is_tested() -> None:
    folders = {each.name for each in RECIPES.iterdir()}
    assert folders == {*CASSANDRA, *MONGO, OWN_STATEFULSET.name}
    for name in folders - {"bitnami"}:
        assert yaml.safe_load((RECIPES / name / "kustomization.yaml").read_text())
