"""How the agent's position lies in Kafka."""

from mongo_agent.config import MongoConfig
from mongo_agent.offsets.agent_offsets import AgentOffsets, StreamOffset, parse_offsets
from mongo_agent.server.deployment import Deployment
from sidecar.offsets import StoredOffsets
from sidecar.offsets.position_store import PositionRecords, PositionStore


def position_records(config: MongoConfig, deployment: Deployment) -> PositionRecords | None:
    """None with `position.store=file`.

    Agents beside the shards of one cluster share the logical name, so each has the name of its
    replica set too.
    """
    if config.properties.position_store != "kafka":
        return None
    name = config.properties.topic_prefix
    if deployment.is_shard:
        name = f"{name}.{deployment.name}"
    return PositionRecords(config.position_topic, name, _values)


class KafkaOffsets:
    """What the topic tells when the sink was closed in the middle: perhaps more than is known to be
    committed."""

    def __init__(self, store: PositionStore, loaded: StoredOffsets, cluster: str) -> None:
        """`loaded` is what the store had at the start."""
        self._store = store
        self._values = loaded.values
        self._cluster = cluster

    def after(self, reached: AgentOffsets) -> AgentOffsets:
        """Where to go on. Without a commit since the last look that is where one is: what a start
        adds, such as a copy that is due, is stored with the first commit only.

        Raises what `PositionStore.load` raises.
        """
        values = self._store.load().values
        if values == self._values:
            return reached
        self._values = values
        for lane, position in parse_offsets(values, self._cluster).lanes.items():
            if lane in reached.lanes:
                reached = reached.moved(lane, position)
        return reached


def _values(lane: str, position: StreamOffset) -> dict[str, str]:
    return AgentOffsets().moved(lane, position).values()
