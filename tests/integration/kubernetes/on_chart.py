"""The Helm chart: linted, rendered with a matrix of values, and compared with the manifests.

Run by `make kubernetes-check`, which builds helm.
"""

import copy
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from agent.config.loader import load_config as load_cassandra
from mongo_agent.config.loading import load_config as load_mongo
from tests.support.kubernetes.kustomize import Object
from tests.support.kubernetes.manifests import K8S, OWN_STATEFULSET, WORKLOADS, workloads
from tests.support.kubernetes.operators import stateful_set
from tests.support.kubernetes.pod_security import violations

CHART = K8S / "chart"
VALUES = {each.stem.removesuffix("-values"): each for each in (CHART / "ci").glob("*.yaml")}
RELEASES = ("1.30", "1.34", "1.37")
OF_HOST = ["host namespaces: hostNetwork", "volume types: hostPath"]


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("helm")
    assert program is not None, "run make kubernetes-check"
    return subprocess.run([program, *arguments], capture_output=True, text=True)


def rendered(name: str, *arguments: str, release: str = "1.34") -> list[Object]:
    options = ("--namespace", "shop", "--kube-version", release, "-f", str(VALUES[name]))
    done = helm("template", "cdc", str(CHART), *options, *arguments)
    assert done.returncode == 0, done.stderr
    found = [each for each in yaml.safe_load_all(done.stdout) if each is not None]
    # Two documents of one name could be attributed wrongly.
    names = [(each["kind"], each["metadata"]["name"]) for each in found]
    assert len(set(names)) == len(names)
    return found


def of_kind(found: list[Object], kind: str) -> Object:
    (match,) = (each for each in found if each["kind"] == kind)
    return match


def test_chart_passes_lint() -> None:
    for file in VALUES.values():
        done = helm("lint", "--strict", str(CHART), "-f", str(file))
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", sorted(VALUES))
def test_chart_objects_match_the_kubernetes_schema(name: str, release: str) -> None:
    found = rendered(name, release=release)
    assert bool(found) == (name != "nothing")
    for each in found:
        # The Prometheus operator's kinds have no schema here.
        if not each["apiVersion"].startswith("monitoring.coreos.com/"):
            kubernetes_validate.validate(each, release, strict=True)
        assert each["metadata"].get("namespace", "shop") == "shop"


@pytest.mark.parametrize("name", sorted(VALUES))
def test_agent_accepts_the_rendered_configuration(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CASSANDRA_HOST", "fd00::1")
    secret = tmp_path / "secret"
    secret.write_text("mongodb://host:27017/?replicaSet=rs0")
    for each in rendered(name):
        for file, text in each.get("data", {}).items() if each["kind"] == "ConfigMap" else ():
            if not file.endswith(".properties"):
                continue
            path = tmp_path / file
            for key in ("username", "password", "http-token", "connection-string"):
                text = text.replace(f"/run/secrets/cdc/{key}", str(secret))
            path.write_text(text)
            if file == "cdc.properties":
                assert not load_cassandra([path]).warnings
            else:
                load_mongo([path])


def test_chart_escapes_backslashes_in_properties(tmp_path: Path) -> None:
    text = of_kind(rendered("daemonset-all"), "DaemonSet")["spec"]["template"]["spec"]
    assert text["containers"][0]["image"].endswith("@sha256:" + "0123456789abcdef" * 4)
    maps = [each for each in rendered("daemonset-all") if each["kind"] == "ConfigMap"]
    (properties,) = (
        each["data"]["cdc.properties"] for each in maps if "cdc.properties" in each["data"]
    )
    assert "table.include.list=shop\\\\..*" in properties
    assert "event.shards" not in properties


@pytest.mark.parametrize(
    "name", ["daemonset", "daemonset-all", "mongo", "mongo-all", "mongo-standby"]
)
def test_chart_pods_meet_their_security_level(name: str) -> None:
    for each in rendered(name):
        if each["kind"] in WORKLOADS:
            found = violations(each["spec"]["template"]["spec"])
            expected = OF_HOST if name == "daemonset" else OF_HOST[1:]
            assert found == (expected if each["kind"] == "DaemonSet" else [])


@pytest.mark.parametrize(("name", "path"), [("snippet", ""), ("snippet-bitnami", "/bitnami")])
def test_snippet_equals_the_container_of_the_component(name: str, path: str) -> None:
    snippet = of_snippet(rendered(name))
    (container,) = yaml.safe_load(snippet["containers.yaml"])
    (workload,) = workloads(OWN_STATEFULSET)
    pod = workload["spec"]["template"]["spec"]
    expected = dict(pod["containers"][0])
    assert container.pop("imagePullPolicy") == "IfNotPresent"
    context = container["securityContext"]
    assert context.pop("runAsUser") == context.pop("runAsGroup") == (1001 if path else 999)
    if path:
        # The values set another port.
        assert container["env"].pop(0) == {"name": "HTTP_PORT", "value": "9000"}
        assert container["ports"][0].pop("containerPort") == 9000
        container["ports"][0]["containerPort"] = 8000
        container["args"] = [each.replace("/bitnami/", "/var/lib/") for each in container["args"]]
    container["volumeMounts"][0] = expected["volumeMounts"][0]
    assert container == expected
    volumes = yaml.safe_load(snippet["volumes.yaml"])
    assert [each["name"] for each in volumes] == [each["name"] for each in pod["volumes"]]
    labels = yaml.safe_load(snippet["labels.yaml"])
    assert labels == {"cdc-sidecar/agent": "cassandra"}


def test_mongod_snippet_equals_the_container_of_the_recipe() -> None:
    snippet = of_snippet(rendered("mongo-snippet"))
    (container,) = yaml.safe_load(snippet["containers.yaml"])
    pod = stateful_set("mongodb-community")["spec"]["template"]["spec"]
    (expected,) = (each for each in pod["containers"] if each["name"] == "cdc")
    assert container.pop("imagePullPolicy") == "IfNotPresent"
    context = container["securityContext"]
    assert context.pop("runAsUser") == context.pop("runAsGroup") == 2000
    assert container == expected


@pytest.mark.parametrize(
    ("name", "overlay"),
    [("daemonset", "cassandra-daemonset"), ("mongo", "mongo"), ("mongo-standby", "mongo-standby")],
)
def test_chart_container_equals_that_of_the_overlay(name: str, overlay: str) -> None:
    (expected,) = agents(workloads(K8S / "overlays" / overlay))
    (found,) = agents(each for each in rendered(name) if each["kind"] in WORKLOADS)
    for container in (found, expected):
        # The overlay mounts another directory and sets the security context on the pod.
        del container["volumeMounts"][0], container["securityContext"]
    assert found.pop("imagePullPolicy") == "IfNotPresent"
    assert found == expected


def agents(found: Iterable[Object]) -> list[Object]:
    """Copies of the agents' containers."""
    return [
        copy.deepcopy(container)
        for each in found
        for container in each["spec"]["template"]["spec"]["containers"]
        if container["name"] == "cdc"
    ]


def of_snippet(found: list[Object]) -> dict[str, str]:
    (data,) = (each["data"] for each in found if each["metadata"]["name"].endswith("-snippet"))
    return dict(data)


def test_changed_property_changes_the_pod_annotation() -> None:
    change = ("--set", r"cassandra.properties.topic\.prefix=other")
    before, after = (
        of_kind(rendered("daemonset", *more), "DaemonSet")["spec"]["template"]["metadata"]
        for more in ((), change)
    )
    assert before != after
    texts = [
        yaml.safe_load(of_snippet(rendered("snippet", *more))["annotations.yaml"])
        for more in ((), change)
    ]
    assert texts[0] != texts[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "cassandra.mode=sidecar"), "/cassandra/mode"),
        (("--set", "cassandra.node.user=0"), "/cassandra/node/user"),
        (("--set", "casandra.mode=snippet"), "casandra"),
        (("--kube-version", "1.28"), "incompatible with Kubernetes"),
    ],
)
def test_helm_rejects_invalid_values(arguments: tuple[str, ...], message: str) -> None:
    done = helm("template", "cdc", str(CHART), "--kube-version", "1.34", *arguments)
    assert done.returncode != 0
    assert message in done.stderr


def test_parent_chart_includes_the_agent_container(tmp_path: Path) -> None:
    """As a dependency, the chart adds its container to the parent's StatefulSet."""
    parent = tmp_path / "database"
    (parent / "templates").mkdir(parents=True)
    (parent / "charts").mkdir()
    shutil.copytree(CHART, parent / "charts" / "cdc-sidecar", symlinks=False)
    (parent / "Chart.yaml").write_text("apiVersion: v2\nname: database\nversion: 1.0.0\n")
    (parent / "values.yaml").write_text("cdc-sidecar: {cassandra: {mode: snippet}}\n")
    (parent / "templates" / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: database}\nspec:\n  containers:\n"
        '    {{- include "cdc-sidecar.cassandra.container" (index .Subcharts "cdc-sidecar")'
        " | nindent 4 }}\n  volumes:\n    - name: data\n      emptyDir: {}\n"
        '    {{- include "cdc-sidecar.cassandra.volumes" (index .Subcharts "cdc-sidecar")'
        " | nindent 4 }}\n"
    )
    done = helm("template", "db", str(parent), "--kube-version", "1.34")
    assert done.returncode == 0, done.stderr
    pod = of_kind([each for each in yaml.safe_load_all(done.stdout) if each], "Pod")
    kubernetes_validate.validate(pod, "1.37", strict=True)
    assert pod["spec"]["containers"][0]["name"] == "cdc"
    assert pod["spec"]["volumes"][1]["configMap"]["name"] == "db-cdc-sidecar-cassandra"
