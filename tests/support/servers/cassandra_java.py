"""Class path and JVM options of each Cassandra release, for nodes and the commit-log reader."""

from pathlib import Path

from tests.support.servers.cassandra_settings import release
from tests.support.servers.java import java
from tests.support.servers.maven import Dependency, class_path

_GROUP = "org.apache.cassandra"

_EXPORTS = {
    "java.base": ["jdk.internal.misc", "jdk.internal.ref", "sun.nio.ch", "java.lang.ref"],
    "java.management.rmi": ["com.sun.jmx.remote.internal.rmi"],
    "java.rmi": ["sun.rmi.registry", "sun.rmi.server"],
    "java.sql": ["java.sql"],
    "jdk.unsupported": ["sun.misc"],
}
_OPENS = {
    "java.base": [
        *("java.io", "java.lang", "java.lang.module", "java.lang.reflect", "java.net", "java.nio"),
        *("java.util", "java.util.concurrent", "java.util.concurrent.atomic"),
        *("jdk.internal.loader", "jdk.internal.math", "jdk.internal.module", "jdk.internal.ref"),
        *("jdk.internal.reflect", "jdk.internal.util.jar", "sun.nio.ch"),
    ],
    "java.rmi": ["sun.rmi.transport.tcp"],
    "jdk.management": ["com.sun.management.internal"],
}


def java_of(version: str) -> Path:
    """The `java` program that runs this release."""
    return java(17 if release(version) >= (5, 0) else 11)


def jars(version: str) -> Path:
    """The folder with the jars of this release."""
    dependencies = [Dependency(_GROUP, "cassandra-all", version)]
    if release(version) < (4, 0):
        dependencies.append(Dependency(_GROUP, "cassandra-thrift", version))
    return class_path(f"cassandra-{version}", dependencies)


def module_options() -> list[str]:
    """The packages of the Java runtime that Cassandra reaches into."""
    words = []
    for option, packages in (("--add-exports", _EXPORTS), ("--add-opens", _OPENS)):
        for module, names in packages.items():
            for name in names:
                words += [option, f"{module}/{name}=ALL-UNNAMED"]
    return words
