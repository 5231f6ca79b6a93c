"""The releases of Spark that tests run on, with the versions of their jars."""

import pyspark

from spark_jobs.dependency_versions import TESTED, DependencyVersions

RELEASES = {
    each.spark: each
    for each in (
        TESTED,
        DependencyVersions(spark="4.0.1", iceberg="1.11.0", spark_avro="4.0.1"),
        DependencyVersions(spark="4.2.0", iceberg=None, spark_avro="4.2.0"),
    )
}


def installed_versions() -> DependencyVersions:
    """The versions for the installed `pyspark`."""
    return RELEASES[pyspark.__version__]
