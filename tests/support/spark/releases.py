"""The releases of Spark that tests run on, with the versions of their jars."""

import pyspark

from spark_jobs.dependency_versions import RELEASES as KNOWN
from spark_jobs.dependency_versions import DependencyVersions

RELEASES = {each.spark: each for each in KNOWN}


def installed_versions() -> DependencyVersions:
    """The versions for the installed `pyspark`."""
    return RELEASES[pyspark.__version__]
