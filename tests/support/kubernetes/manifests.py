"""The manifests of `k8s/`, rendered."""

from pathlib import Path

from tests.support.kubernetes.kustomize import Object, build, finished

REPOSITORY = Path(__file__).resolve().parents[3]
K8S = REPOSITORY / "k8s"
OVERLAYS = sorted(path.parent for path in (K8S / "overlays").rglob("kustomization.yaml"))
OWN_STATEFULSET = K8S / "recipes" / "statefulset"
POLICIES = sorted((K8S / "examples" / "network-policies").glob("*.yaml"))
WHOLE = [*OVERLAYS, OWN_STATEFULSET]
"""Kustomizations whose objects Kubernetes itself knows."""
WORKLOADS = ("StatefulSet", "DaemonSet", "Deployment")


def objects(directory: Path) -> list[Object]:
    return finished(build(directory))


def workloads(directory: Path) -> list[Object]:
    return [each for each in objects(directory) if each["kind"] in WORKLOADS]


def pod_of(workload: Object) -> Object:
    return dict(workload["spec"]["template"]["spec"])


def properties_text(directory: Path) -> str:
    (found,) = (each for each in objects(directory) if each["kind"] == "ConfigMap")
    (text,) = found["data"].values()
    return str(text)
