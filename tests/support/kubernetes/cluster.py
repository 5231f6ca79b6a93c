"""A Kubernetes API server with etcd and the controllers of workloads, on loopback ports.

No kubelet and no scheduler: `run_pods` reports every pod as running and ready, as a kubelet would,
so that controllers continue. `scripts/kubernetes-tools` builds the programs.
"""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.kubernetes.kustomize import Object
from tests.support.servers.processes import ServerProcess, free_port, wait_until

_TOKEN = "administrator-of-this-test"
_CONTROLLERS = (
    "daemonset-controller,deployment-controller,disruption-controller,garbage-collector-controller,"
    "namespace-controller,replicaset-controller,serviceaccount-controller,statefulset-controller"
)


class KubernetesCluster:
    """A running cluster, by kubectl and helm."""

    def __init__(self, programs: Path, kubeconfig: Path) -> None:
        self._programs = programs
        self._kubeconfig = kubeconfig

    def kubectl(self, *arguments: str, text: str = "") -> str:
        return self._run("kubectl", arguments, text)

    def helm(self, *arguments: str) -> str:
        return self._run("helm", arguments, "")

    def apply(self, objects: Sequence[Object], *arguments: str) -> str:
        """Apply on the server side; unknown and duplicate fields are errors."""
        options = ("--server-side", "--force-conflicts", "--validate=strict", *arguments)
        return self.kubectl("apply", *options, "-f", "-", text=yaml.safe_dump_all(objects))

    def get(self, kind: str, namespace: str, *arguments: str) -> list[Object]:
        text = self.kubectl("get", kind, "-n", namespace, "-o", "json", *arguments)
        value = json.loads(text)
        return list(value["items"]) if "items" in value else [value]

    def namespace(self, name: str, level: str) -> None:
        """A namespace that enforces a level of Pod Security."""
        labels = {"pod-security.kubernetes.io/enforce": level}
        metadata = {"name": name, "labels": labels}
        self.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])

    def define(self, directory: Path) -> None:
        """Apply the CustomResourceDefinitions of a directory, and wait until they are served."""
        self.kubectl("apply", "--server-side", "-f", str(directory))
        self.kubectl("wait", "--for=condition=Established", "--timeout=600s", "crd", "--all")

    def node(self, name: str, labels: dict[str, str]) -> None:
        """A ready machine, for pods of daemon sets."""
        metadata = {"name": name, "labels": labels}
        self.apply([{"apiVersion": "v1", "kind": "Node", "metadata": metadata}])

    def run_pods(self, namespace: str) -> None:
        """Report every pod of the namespace as running and ready."""
        for pod in self.get("pods", namespace):
            if pod["status"].get("phase") == "Running" or "deletionTimestamp" in pod["metadata"]:
                continue
            ready = [
                {"type": kind, "status": "True"}
                for kind in ("Initialized", "ContainersReady", "Ready", "PodScheduled")
            ]
            patch = json.dumps({"status": {"phase": "Running", "conditions": ready}})
            with suppress(KubernetesError):
                self.kubectl(
                    *("patch", "pod", pod["metadata"]["name"], "-n", namespace),
                    *("--subresource=status", "--type=merge", "-p", patch),
                )

    def wait(self, namespace: str, what: str, until: Callable[[], bool]) -> None:
        """Run pods until the condition holds; an error shows the events of the namespace."""

        def holds() -> bool:
            self.run_pods(namespace)
            return until()

        events = partial(self.kubectl, "get", "events", "-n", namespace)
        wait_until(holds, what, state=events)

    def is_ready(self) -> bool:
        """Whether the API server answers."""
        with suppress(KubernetesError):
            return bool(self.kubectl("get", "--raw", "/readyz"))
        return False

    def _run(self, program: str, arguments: Sequence[str], text: str) -> str:
        done = subprocess.run(
            [self._programs / program, "--kubeconfig", self._kubeconfig, *arguments],
            input=text,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise KubernetesError(f"{program} {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout


class KubernetesError(Exception):
    """kubectl or helm failed; the message is its own."""


@contextmanager
def kubernetes_cluster(programs: Path, directory: Path) -> Iterator[KubernetesCluster]:
    """A new cluster; its logs and data are in the directory."""
    etcd_port, peer_port, port, manager_port = (free_port() for _ in range(4))
    key, tokens, kubeconfig = directory / "key.pem", directory / "tokens", directory / "kubeconfig"
    _write_key(key)
    tokens.write_text(f'{_TOKEN},administrator,1,"system:masters"\n')
    kubeconfig.write_text(yaml.safe_dump(_kubeconfig(port)))
    with ExitStack() as stack:

        def start(program: str, **options: object) -> ServerProcess:
            flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
            log = directory / f"{program}.log"
            process = ServerProcess(program, [programs / program, *flags], log)
            process.start()
            stack.callback(process.terminate)
            return process

        etcd = f"http://127.0.0.1:{etcd_port}"
        peer = f"http://127.0.0.1:{peer_port}"
        start(
            "etcd",
            data_dir=directory / "etcd",
            listen_client_urls=etcd,
            advertise_client_urls=etcd,
            listen_peer_urls=peer,
            initial_advertise_peer_urls=peer,
            initial_cluster=f"default={peer}",
            unsafe_no_fsync="true",
        )
        server = start(
            "kube-apiserver",
            etcd_servers=etcd,
            bind_address="127.0.0.1",
            secure_port=port,
            cert_dir=directory / "certificates",
            token_auth_file=tokens,
            authorization_mode="AlwaysAllow",
            service_account_issuer="https://kubernetes.default.svc",
            service_account_signing_key_file=key,
            service_account_key_file=key,
            service_cluster_ip_range="10.0.0.0/24",
        )
        cluster = KubernetesCluster(programs, kubeconfig)
        wait_until(cluster.is_ready, "the API server", process=server)
        start(
            "kube-controller-manager",
            kubeconfig=kubeconfig,
            bind_address="127.0.0.1",
            secure_port=manager_port,
            cert_dir=directory / "manager",
            controllers=_CONTROLLERS,
            leader_elect="false",
            service_account_private_key_file=key,
            use_service_account_credentials="false",
        )
        yield cluster


def _write_key(path: Path) -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )


def _kubeconfig(port: int) -> dict[str, Any]:
    server = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": server}],
        "users": [{"name": "test", "user": {"token": _TOKEN}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }
