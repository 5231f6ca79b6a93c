"""The level `restricted` of Kubernetes' Pod Security Standards, for a pod's `spec`."""

from collections.abc import Iterator

from tests.support.kubernetes.kustomize import Object

_VOLUMES = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"),
    *("projected", "secret"),
}
_PROFILES = ("RuntimeDefault", "Localhost")


def violations(pod: Object) -> list[str]:
    """What the level forbids, as `control: place`; of pods without Windows and AppArmor."""
    return [*_of_pod(pod), *(each for item in containers(pod) for each in _of_container(pod, item))]


def containers(pod: Object) -> Iterator[Object]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod.get(kind, ())


def _of_pod(pod: Object) -> Iterator[str]:
    for name in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(name):
            yield f"host namespaces: {name}"
    for volume in pod.get("volumes", ()):
        for kind in volume.keys() - {"name"} - _VOLUMES:
            yield f"volume types: {kind}"
    if pod.get("securityContext", {}).get("sysctls"):
        yield "sysctls: pod"


def _of_container(pod: Object, container: Object) -> Iterator[str]:
    name, own = container["name"], container.get("securityContext", {})
    effective = pod.get("securityContext", {}) | own
    capabilities = own.get("capabilities", {})
    if own.get("allowPrivilegeEscalation") is not False:
        yield f"privilege escalation: {name}"
    if own.get("privileged"):
        yield f"privileged: {name}"
    if effective.get("runAsNonRoot") is not True:
        yield f"running as non-root: {name}"
    if effective.get("runAsUser") == 0:
        yield f"running as non-root user: {name}"
    if effective.get("seccompProfile", {}).get("type") not in _PROFILES:
        yield f"seccomp: {name}"
    if "ALL" not in capabilities.get("drop", ()):
        yield f"capabilities: {name}"
    if set(capabilities.get("add", ())) - {"NET_BIND_SERVICE"}:
        yield f"added capabilities: {name}"
    if any("hostPort" in port for port in container.get("ports", ())):
        yield f"host ports: {name}"
    if own.get("procMount", "Default") != "Default":
        yield f"/proc mount type: {name}"
