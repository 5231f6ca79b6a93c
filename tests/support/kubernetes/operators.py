"""The StatefulSets that operators and charts make of the recipes, as far as an agent sees them.

Read from the operators' sources: names of the node's container and volume, mounts, default users,
and how containers, volumes and labels of a custom resource reach the pod.
"""

import yaml

from tests.support.kubernetes.kustomize import Object, build, finished
from tests.support.kubernetes.manifests import K8S

RECIPES = K8S / "recipes"
_RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_PROFILE = {"seccompProfile": {"type": "RuntimeDefault"}, "runAsNonRoot": True}


def stateful_set(name: str) -> Object:
    """The StatefulSet of a recipe."""
    return {
        "bitnami": _bitnami,
        "cass-operator": _cass_operator,
        "k8ssandra": _k8ssandra,
        "mongodb-community": _mongodb_community,
        "percona-mongodb": _percona,
    }[name]()


def resource(name: str) -> Object:
    """The custom resource of a recipe, as Kustomize builds it."""
    (found,) = (each for each in finished(build(RECIPES / name)) if each["kind"] != "ConfigMap")
    return found


def config_map(name: str) -> Object:
    """The ConfigMap of a recipe. Bitnami's is made by a command from the same file."""
    if name != "bitnami":
        (found,) = (each for each in finished(build(RECIPES / name)) if each["kind"] == "ConfigMap")
        return found
    text = (RECIPES / name / "cdc.properties").read_text()
    metadata = {"name": "cdc-cassandra", "namespace": "shop"}
    data = {"cdc.properties": text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _cass_operator() -> Object:
    spec = resource("cass-operator")["spec"]
    template = spec["podTemplateSpec"]
    yaml_settings = spec["config"]["cassandra-yaml"]
    return _of_cassandra(template["metadata"]["labels"], template["spec"], yaml_settings, spec)


def _k8ssandra() -> Object:
    spec = resource("k8ssandra")["spec"]["cassandra"]
    pod = {
        "containers": [each for each in spec["containers"] if each["name"] != "cassandra"],
        "volumes": spec["extraVolumes"]["volumes"],
    }
    labels = spec["metadata"]["pods"]["labels"]
    return _of_cassandra(labels, pod, spec["config"]["cassandraYaml"], spec)


def _of_cassandra(labels: Object, pod: Object, settings: Object, spec: Object) -> Object:
    node = _node("cassandra", "server-data", "/var/lib/cassandra", settings["cdc_raw_directory"])
    assert settings["cdc_enabled"] is True
    defaults: Object = {
        # Of both operators.
        "securityContext": {"runAsUser": 999, "runAsGroup": 999, "fsGroup": 999} | _PROFILE,
        "terminationGracePeriodSeconds": 120,
    }
    pod = defaults | pod | {"containers": [*pod["containers"], node]}
    claim = spec["storageConfig"]["cassandraDataVolumeClaimSpec"]
    return _set(labels, pod, {"server-data": claim})


def _bitnami() -> Object:
    values = yaml.safe_load((RECIPES / "bitnami" / "values.yaml").read_text())
    variables = {each["name"]: each["value"] for each in values["extraEnvVars"]}
    assert variables["CASSANDRA_CFG_YAML_CDC_ENABLED"] == "true"
    raw = variables["CASSANDRA_CFG_YAML_CDC_RAW_DIRECTORY"]
    node = _node("cassandra", "data", "/bitnami/cassandra", raw)
    # The chart gives its user to its own container alone.
    node["securityContext"] |= {"runAsUser": 1001, "runAsGroup": 1001} | _PROFILE
    pod = {
        "securityContext": {"fsGroup": values["podSecurityContext"]["fsGroup"]},
        "terminationGracePeriodSeconds": values["terminationGracePeriodSeconds"],
        "containers": [node, *values["sidecars"]],
        "volumes": values["extraVolumes"],
    }
    return _set(values["podLabels"], pod, {"data": _claim()})


def _mongodb_community() -> Object:
    template = resource("mongodb-community")["spec"]["statefulSet"]["spec"]["template"]
    pod: Object = {"securityContext": {"runAsUser": 2000, "fsGroup": 2000} | _PROFILE}
    pod |= template["spec"]
    node = _node("mongod", "data-volume", "/data", None)
    pod = pod | {"containers": [*pod["containers"], node]}
    return _set(template["metadata"]["labels"], pod, {"data-volume": _claim()})


def _percona() -> Object:
    (replset,) = resource("percona-mongodb")["spec"]["replsets"]
    node = _node("mongod", "mongod-data", "/data/db", None)
    node["securityContext"] |= {"runAsUser": 1001} | _PROFILE
    pod = {
        "securityContext": replset["podSecurityContext"],
        "terminationGracePeriodSeconds": 60,
        "containers": [node, *replset["sidecars"]],
        "volumes": replset["sidecarVolumes"],
    }
    return _set(
        replset["labels"], pod, {"mongod-data": replset["volumeSpec"]["persistentVolumeClaim"]}
    )


def _node(name: str, volume: str, path: str, cdc_raw: str | None) -> Object:
    """The database's container; the path of cdc_raw is in a variable."""
    return {
        "name": name,
        "image": name,
        "env": [{"name": "CDC_RAW", "value": cdc_raw}] if cdc_raw else [],
        "securityContext": dict(_RESTRICTED),
        "volumeMounts": [{"name": volume, "mountPath": path}],
    }


def _claim() -> Object:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def _set(labels: Object, pod: Object, claims: dict[str, Object]) -> Object:
    own = {"app": "database"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "database", "namespace": "shop"},
        "spec": {
            "serviceName": "database",
            "replicas": 2,
            "selector": {"matchLabels": own},
            "template": {"metadata": {"labels": labels | own}, "spec": pod},
            "volumeClaimTemplates": [
                {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"]} | claim}
                for name, claim in claims.items()
            ],
        },
    }
