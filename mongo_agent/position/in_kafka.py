"""How the agent's position lies in Kafka."""

from mongo_agent.config import MongoConfig
from mongo_agent.deployment import Deployment
from mongo_agent.position.position import AgentPosition, LanePosition
from sidecar.positions import PositionRecords


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


def _values(lane: str, position: LanePosition) -> dict[str, str]:
    return AgentPosition().moved(lane, position).values()
