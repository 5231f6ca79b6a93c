"""The identity of a running agent: its release, its machine, and the node that it reads."""

import socket
from dataclasses import asdict, dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Instance:
    """One running agent. None marks a value that is unknown, or not known yet."""

    service: str
    """Name of the program, such as `cdc-sidecar-cassandra`."""
    version: str
    host: str = field(default_factory=socket.gethostname)
    """Name of the machine or pod on which the agent runs."""
    topic_prefix: str | None = None
    """`topic.prefix`."""
    cluster: str | None = None
    """Name of the Cassandra cluster or of the replica set."""
    node_id: str | None = None
    """Cassandra: the host id. MongoDB: the member of a direct connection."""
    datacenter: str | None = None
    rack: str | None = None

    def document(self) -> dict[str, str | None]:
        """All values by name, for JSON."""
        return asdict(self)

    def labels(self) -> dict[str, str]:
        """The known values as labels of a metric; the service is `service_name`."""
        known = self.log_fields()
        return {"service_name": known.pop("service"), **known}

    def log_fields(self) -> dict[str, str]:
        """The known values for every line of a JSON log."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def located(
        self,
        cluster: str | None,
        node_id: str | None,
        datacenter: str | None,
        rack: str | None,
    ) -> "Instance":
        """Return this agent with the location that its node reported."""
        return replace(self, cluster=cluster, node_id=node_id, datacenter=datacenter, rack=rack)
