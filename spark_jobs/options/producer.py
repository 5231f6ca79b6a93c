"""Options of the Kafka producer."""

from pydantic import model_validator

from sidecar.properties.addresses import broker_list
from sidecar.properties.model import PassThrough, Properties, pass_through
from spark_jobs.options.kafka_client import kafka_problems, kafka_warnings

_ALL_REPLICAS = ("all", "-1")


class ProducerOptions(Properties):
    """The Kafka producer. A job also has the settings `kafka.*` of its source."""

    sink_kafka: PassThrough = pass_through(
        "sink.kafka.",
        doc="Settings of the Kafka producer. Without `sink.kafka.bootstrap.servers` the job "
        "writes to the cluster of `kafka.*`, with all its settings.",
    )

    @model_validator(mode="after")
    def _producer_is_valid(self) -> "ProducerOptions":
        servers = self.sink_kafka.get("bootstrap.servers")
        if servers is not None:
            try:
                broker_list(servers)
            except ValueError as error:
                raise ValueError(f"`sink.kafka.bootstrap.servers` {error}") from error
            problem = next(kafka_problems("sink.kafka.", self.sink_kafka), None)
            if problem is not None:
                raise ValueError(problem)
        acks = self.sink_kafka.get("acks")
        if acks is not None and acks.strip() not in _ALL_REPLICAS:
            raise ValueError(
                f"`sink.kafka.acks` must be `all`, not `{acks}`, because events that only the "
                "leader has are lost with it"
            )
        return self

    def producer_settings(self) -> dict[str, str]:
        """Options of Spark's Kafka sink."""
        given = dict(self.sink_kafka)
        source: dict[str, str] = getattr(self, "kafka", {})
        settings = given if "bootstrap.servers" in given else {**source, **given}
        return {f"kafka.{name}": value for name, value in settings.items()}

    def warnings(self) -> tuple[str, ...]:
        return (*super().warnings(), *kafka_warnings("sink.kafka.", self.sink_kafka))
