"""One authority's stores, and a broker with a listener for each way to authenticate."""

from dataclasses import dataclass
from pathlib import Path

from tests.support.servers.certificates import Authority, Identity
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.keystore import convert_store
from tests.support.servers.processes import free_port

PASSWORD = "changeit"


USER, USER_PASSWORD = "agent", "s3cret-of-agent"


@dataclass(frozen=True)
class Stores:
    """Files of one authority: what clients trust and show, in every form."""

    authority: Authority
    directory: Path

    @property
    def ca_pem(self) -> Path:
        return self.authority.pem(self.directory / "ca.pem")

    @property
    def trust_jks(self) -> Path:
        return self._jks(self.authority.truststore(self.directory / "trust.p12", PASSWORD))

    @property
    def trust_p12(self) -> Path:
        return self.authority.truststore(self.directory / "trust.p12", PASSWORD)

    def key(self, name: str, host: str = "127.0.0.1") -> Identity:
        return self.authority.signed(name, host=host)

    def key_p12(self, identity: Identity, name: str) -> Path:
        number = identity.certificate.serial_number
        return identity.pkcs12(self.directory / f"{name}-{number:x}.p12", PASSWORD)

    def key_jks(self, identity: Identity, name: str) -> Path:
        return self._jks(self.key_p12(identity, name))

    def trust(self, kind: str, prefix: str = "ssl.") -> dict[str, str]:
        """Settings of Java's clients with the servers that they trust."""
        file = {"JKS": self.trust_jks, "PKCS12": self.trust_p12, "PEM": self.ca_pem}[kind]
        password = {} if kind == "PEM" else {f"{prefix}truststore.password": PASSWORD}
        return {f"{prefix}truststore.location": str(file), **password}

    def identity(self, kind: str, prefix: str = "ssl.") -> dict[str, str]:
        """Settings of Java's clients with a certificate of their own."""
        own, name = self.key("client"), f"client-{kind}"
        if kind == "PEM":
            return {f"{prefix}keystore.location": str(own.pem(self.directory / f"{name}.pem"))}
        file = self.key_jks(own, name) if kind == "JKS" else self.key_p12(own, name)
        passwords = dict.fromkeys((f"{prefix}keystore.password", f"{prefix}key.password"), PASSWORD)
        return {f"{prefix}keystore.location": str(file), **passwords}

    def _jks(self, store: Path) -> Path:
        target = store.with_suffix(".jks")
        return target if target.exists() else convert_store(store, target, "JKS", PASSWORD)


def allow_every_protocol(folder: Path) -> str:
    """An option for a JVM that may speak TLS 1.1, which Java forbids by itself."""
    path = folder / "java.security"
    path.write_text("jdk.tls.disabledAlgorithms=\n")
    return f"-Djava.security.properties={path}"


class SecureBroker(KafkaBroker):
    """Beside the plain listener of the harness: `ssl` asks clients for a certificate, `sasl` for a
    login, both over TLS; `other` has a certificate of another host, `expired` one that has
    expired, and `old` speaks TLS 1.1 alone, which takes a setting of Java's."""

    def __init__(self, directory: Path, stores: Stores) -> None:
        self.ssl_port, self.sasl_port, self.other_port = free_port(), free_port(), free_port()
        self.expired_port, self.old_port = free_port(), free_port()
        self._java_security = allow_every_protocol(stores.directory)
        server = stores.key_jks(stores.key("broker"), "broker")
        other = stores.key_jks(stores.key("other", "broker.example"), "other")
        expired = stores.key_jks(stores.authority.signed("late", is_expired=True), "expired")
        plain = "org.apache.kafka.common.security.plain.PlainLoginModule"
        scram = "org.apache.kafka.common.security.scram.ScramLoginModule"
        listeners = {"SSL": self.ssl_port, "SASL": self.sasl_port, "OTHER": self.other_port}
        listeners |= {"EXPIRED": self.expired_port, "OLD": self.old_port}
        properties = {
            "ssl.keystore.location": str(server),
            "ssl.keystore.password": PASSWORD,
            "ssl.truststore.location": str(stores.trust_jks),
            "ssl.truststore.password": PASSWORD,
            "listener.name.ssl.ssl.client.auth": "required",
            "listener.name.other.ssl.keystore.location": str(other),
            "listener.name.other.ssl.keystore.password": PASSWORD,
            "listener.name.expired.ssl.keystore.location": str(expired),
            "listener.name.expired.ssl.keystore.password": PASSWORD,
            "listener.name.old.ssl.enabled.protocols": "TLSv1.1",
            "listener.name.old.ssl.protocol": "TLSv1.1",
            "listener.name.sasl.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.sasl.plain.sasl.jaas.config": (
                f'{plain} required user_{USER}="{USER_PASSWORD}";'
            ),
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": f"{scram} required;",
            "listener.name.sasl.scram-sha-512.sasl.jaas.config": f"{scram} required;",
        }
        super().__init__(directory, properties=properties)
        self._named = listeners

    def _java(self, main_class: str, *arguments: str) -> list[str]:
        program, *rest = super()._java(main_class, *arguments)
        return [program, self._java_security, *rest]

    def _server_properties(self) -> str:
        """The harness's own with more listeners."""
        added = "".join(f",{name}://127.0.0.1:{port}" for name, port in self._named.items())
        lines = []
        for line in super()._server_properties().splitlines():
            name, _, value = line.partition("=")
            if name in ("listeners", "advertised.listeners"):
                value += added
            elif name == "listener.security.protocol.map":
                value += ",SSL:SSL,SASL:SASL_SSL,OTHER:SSL,EXPIRED:SSL,OLD:SSL"
            lines.append(f"{name}={value}\n")
        return "".join(lines)
