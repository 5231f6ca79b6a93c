"""The support matrix names the releases that the tests really run."""

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
def test_each_cassandra_of_the_harness_has_a_row(release: str) -> None:
    assert re.search(rf"^\| {re.escape(release)}\b", PAGE, re.MULTILINE)


def test_the_registry_of_the_tests_has_a_row() -> None:
    assert f"| Apicurio {APICURIO}," in PAGE


def test_the_kafka_of_the_tests_has_a_row() -> None:
    found = re.search(r'"CDC_TEST_KAFKA", "([\d.]+)"', KAFKA.read_text(encoding="utf-8"))
    assert found is not None
    assert f"| Apache Kafka {found[1]}, KRaft | every test" in PAGE


@pytest.mark.parametrize("package", ["pyspark", "delta-spark"])
def test_spark_has_its_locked_release(package: str) -> None:
    found = re.search(rf"^{package}==([\d.]+)", LOCK, re.MULTILINE)
    assert found is not None
    assert found[1] in PAGE


def test_each_make_target_of_the_page_exists() -> None:
    for target in set(re.findall(r"`make ([\w-]+)", PAGE)):
        assert re.search(rf"^{target}:", TARGETS, re.MULTILINE), target
