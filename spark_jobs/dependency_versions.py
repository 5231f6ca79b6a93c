"""Compatible versions of Spark, Delta Lake, Iceberg and Kafka's client, and their jars.

Only this module lists the jars. `pyproject.toml` limits the Python packages to the same releases.
`pyspark` contains all other jars, most of them newer than the poms of these jars require. So Maven
must not resolve dependencies: a second Jackson or Hadoop on the class path causes
`NoSuchMethodError`.
"""

from dataclasses import dataclass, replace

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
    """Versions that work together. `iceberg` is None if Iceberg does not support this Spark."""

    spark: str = "4.1.3"
    scala: str = "2.13"
    delta: str = "4.4.0"
    iceberg: str | None = "1.12.0"
    # Any release of the same minor version works; the tests' mirror does not have the latest.
    spark_avro: str = "4.1.1"
    unity_catalog: str = "0.6.0"
    kafka_clients: str = "3.9.2"
    commons_pool: str = "2.13.1"
    # Only delegation tokens need it; its classes are the same in every 4.x release.
    kafka_token_provider: str = "4.1.1"

    def artifacts(self) -> tuple[Artifact, ...]:
        """The jars that `pyspark` does not contain."""
        return (*self.required_artifacts(), *self.optional_artifacts())

    def optional_artifacts(self) -> tuple[Artifact, ...]:
        """The jars that only Avro messages and Iceberg tables need."""
        avro = Artifact("org.apache.spark", f"spark-avro_{self.scala}", self.spark_avro)
        if self.iceberg is None:
            return (avro,)
        name = f"iceberg-spark-runtime-{self._spark_minor()}_{self.scala}"
        return (avro, Artifact("org.apache.iceberg", name, self.iceberg))

    def required_artifacts(self) -> tuple[Artifact, ...]:
        """The jars that every job needs."""
        major, minor = map(int, self.delta.split(".")[:2])
        is_named_by_spark = (major, minor) >= _FIRST_DELTA_NAMED_BY_SPARK
        spark = f"_{self._spark_minor()}" if is_named_by_spark else ""
        kernel = ("api", "defaults", "unitycatalog") if is_named_by_spark else ()
        catalog = ("client", "hadoop") if is_named_by_spark else ()
        return (
            Artifact("org.apache.spark", f"spark-sql-kafka-0-10_{self.scala}", self.spark),
            Artifact(
                "org.apache.spark",
                f"spark-token-provider-kafka-0-10_{self.scala}",
                self.kafka_token_provider,
            ),
            Artifact("org.apache.kafka", "kafka-clients", self.kafka_clients),
            Artifact("org.apache.commons", "commons-pool2", self.commons_pool),
            Artifact("io.delta", f"delta-spark{spark}_{self.scala}", self.delta),
            Artifact("io.delta", "delta-storage", self.delta),
            *(Artifact("io.delta", f"delta-kernel-{part}", self.delta) for part in kernel),
            *(
                Artifact("io.unitycatalog", f"unitycatalog-{part}", self.unity_catalog)
                for part in catalog
            ),
        )

    def _spark_minor(self) -> str:
        return ".".join(self.spark.split(".")[:2])


TESTED = DependencyVersions()

RELEASES = (
    TESTED,
    DependencyVersions(spark="4.0.1", iceberg="1.11.0", spark_avro="4.0.1"),
    DependencyVersions(spark="4.2.0", iceberg=None, spark_avro="4.2.0"),
)
"""The versions for each minor version of Spark. Iceberg has no runtime for Spark 4.2."""


def versions_for(spark: str) -> DependencyVersions:
    """The versions for a release of Spark; the tested versions if its minor version is unknown."""
    minor = spark.split(".")[:2]
    fitting = [each for each in RELEASES if each.spark.split(".")[:2] == minor]
    return replace(fitting[0] if fitting else TESTED, spark=spark)
