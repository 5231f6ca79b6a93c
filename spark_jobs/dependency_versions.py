"""Compatible versions of Spark, Delta Lake and Kafka's client, and the jars that they need.

Only this module names the jars. `pyproject.toml` limits the Python packages to the same releases.
`pyspark` contains all other jars, most of them newer than the poms of these jars require. So Maven
must not resolve dependencies: a second Jackson or Hadoop on the class path causes
`NoSuchMethodError`.
"""

from dataclasses import dataclass

_FIRST_DELTA_NAMED_BY_SPARK = (4, 1)


@dataclass(frozen=True, slots=True)
class Artifact:
    """A jar, by its Maven coordinates."""

    group: str
    name: str
    version: str

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.version}.jar"


@dataclass(frozen=True, slots=True)
class DependencyVersions:
    """Versions that work together."""

    spark: str = "4.2.0"
    scala: str = "2.13"
    delta: str = "4.4.0"
    unity_catalog: str = "0.6.0"
    kafka_clients: str = "3.9.2"
    commons_pool: str = "2.13.1"
    # Only delegation tokens need it; its classes are the same in every release 4.x.
    kafka_token_provider: str = "4.0.0"

    def artifacts(self) -> tuple[Artifact, ...]:
        """The jars that `pyspark` does not contain."""
        return (
            Artifact("org.apache.spark", f"spark-sql-kafka-0-10_{self.scala}", self.spark),
            Artifact(
                "org.apache.spark",
                f"spark-token-provider-kafka-0-10_{self.scala}",
                self.kafka_token_provider,
            ),
            Artifact("org.apache.kafka", "kafka-clients", self.kafka_clients),
            Artifact("org.apache.commons", "commons-pool2", self.commons_pool),
            Artifact("io.delta", self._delta_name(), self.delta),
            Artifact("io.delta", "delta-storage", self.delta),
            *(
                Artifact("io.delta", f"delta-kernel-{part}", self.delta)
                for part in self._kernel_parts()
            ),
            *(
                Artifact("io.unitycatalog", f"unitycatalog-{part}", self.unity_catalog)
                for part in self._unity_catalog_parts()
            ),
        )

    def _delta_name(self) -> str:
        if not self._delta_is_named_by_spark():
            return f"delta-spark_{self.scala}"
        return f"delta-spark_{'.'.join(self.spark.split('.')[:2])}_{self.scala}"

    def _delta_is_named_by_spark(self) -> bool:
        major, minor = self.delta.split(".")[:2]
        return (int(major), int(minor)) >= _FIRST_DELTA_NAMED_BY_SPARK

    def _kernel_parts(self) -> tuple[str, ...]:
        return ("api", "defaults", "unitycatalog") if self._delta_is_named_by_spark() else ()

    def _unity_catalog_parts(self) -> tuple[str, ...]:
        return ("client", "hadoop") if self._delta_is_named_by_spark() else ()


TESTED = DependencyVersions()
"""The versions that the tests use."""
