"""The support matrix lists the releases that the tests run."""

import re
from pathlib import Path

import pytest

from tests.support.servers.apicurio import VERSION as APICURIO
from tests.support.servers.cassandra_settings import VERSIONS as CASSANDRA

REPOSITORY = Path(__file__).resolve().parents[3]
PAGE = (REPOSITORY / "docs" / "reference" / "support.md").read_text(encoding="utf-8")
MAKEFILES = [REPOSITORY / name for name in ("Makefile", "scripts/proofs.mk")]
TARGETS = "\n".join(path.read_text(encoding="utf-8") for path in MAKEFILES)
LOCK = (REPOSITORY / "requirements" / "dev.lock").read_text(encoding="utf-8")
KAFKA = REPOSITORY / "tests" / "support" / "servers" / "kafka.py"


@pytest.mark.parametrize("release", CASSANDRA)
def test_tested_cassandra_release_is_listed(release: str) -> None:
    assert re.search(rf"^\| {re.escape(release)}\b", PAGE, re.MULTILINE)


def test_tested_registry_is_listed() -> None:
    assert f"| Apicurio {APICURIO}," in PAGE


def test_tested_kafka_release_is_listed() -> None:
    found = re.search(r'"CDC_TEST_KAFKA", "([\d.]+)"', KAFKA.read_text(encoding="utf-8"))
    assert found is not None
    assert f"| Apache Kafka {found[1]}, KRaft | every test" in PAGE


@pytest.mark.parametrize("package", ["pyspark", "delta-spark"])
def test_locked_spark_release_is_listed(package: str) -> None:
    found = re.search(rf"^{package}==([\d.]+)", LOCK, re.MULTILINE)
    assert found is not None
    assert found[1] in PAGE


def test_listed_make_targets_exist() -> None:
    for target in set(re.findall(r"`make ([\w-]+)", PAGE)):
        assert re.search(rf"^{target}:", TARGETS, re.MULTILINE), target
