"""`config show` and the table of the documentation."""

from pathlib import Path

from sidecar.properties.documentation import documentation_table
from sidecar.properties.loading import load
from sidecar.properties.show import rows
from tests.support.agents.property_models import ShopProperties

TEXT = """kafka.topic.prefix=shop
password=hidden-1
pin=${env:PIN}
hosts=a,b
enabled=FALSE
folder=${env:FOLDER}
kafka.producer.linger.ms=5
kafka.producer.sasl.jaas.config=module required password="hidden-2";
kafka.producer.ssl.key.pem=hidden-3
kafka.producer.sasl.password=${env:PIN}
"""


def test_config_rows_contain_values_and_origins_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "cdc.properties"
    path.write_text(TEXT)
    environment = {"PIN": "hidden-4", "FOLDER": "/data"}
    shown = rows(load(ShopProperties, [path], environment=environment))
    assert "hidden" not in repr(shown)
    table = {row.name: (row.value, str(row.origin).replace(str(path), "FILE")) for row in shown}
    assert table == {
        "topic.prefix": ("shop", "FILE:1"),
        "http.port": ("8000", "default"),
        "ratio": ("0.5", "default"),
        "enabled": ("false", "FILE:5"),
        "hosts": ("a,b", "FILE:4"),
        "timeout.ms": ("10", "default"),
        "size.max.bytes": ("1048576", "default"),
        "pause.ms": ("10", "default"),
        "mode": ("never", "default"),
        "level": ("ONE", "default"),
        "folder": ("${env:FOLDER}", "FILE:6"),
        "password": ("********", "FILE:2"),
        "pin": ("${env:PIN}", "FILE:3"),
        "kafka.producer.linger.ms": ("5", "FILE:7"),
        "kafka.producer.sasl.jaas.config": ("********", "FILE:8"),
        "kafka.producer.sasl.password": ("${env:PIN}", "FILE:10"),
        "kafka.producer.ssl.key.pem": ("********", "FILE:9"),
    }
    assert [row.name for row in shown[:3]] == ["topic.prefix", "http.port", "ratio"]


def test_a_secret_default_is_masked(tmp_path: Path) -> None:
    path = tmp_path / "cdc.properties"
    path.write_text("topic.prefix=shop")
    table = {row.name: row.value for row in rows(load(ShopProperties, [path]))}
    assert (table["pin"], table["password"]) == ("********", "")


def test_documentation_table_lists_every_property() -> None:
    assert documentation_table(ShopProperties) == (
        "| property | value | default | meaning |\n"
        "| --- | --- | --- | --- |\n"
        "| `topic.prefix` | text | required | First part of a topic. "
        "Also: `kafka.topic.prefix`. |\n"
        "| `http.port` | number | `8000` | Port. |\n"
        "| `ratio` | number | `0.5` | Between 0 and 1. |\n"
        "| `enabled` | true or false | `true` | On \\| off. |\n"
        "| `hosts` | list, separated by commas | `localhost` | Contact points. |\n"
        "| `timeout.ms` | milliseconds | `10` | How long. |\n"
        "| `size.max.bytes` | bytes | `1048576` | How large. |\n"
        "| `pause.ms` | milliseconds | `10` | At least. |\n"
        "| `mode` | `initial`, `never` | `never` | When. |\n"
        "| `level` | `ONE`, `ALL` | `ONE` | Level. |\n"
        "| `folder` | path |   | Where. |\n"
        "| `password` | text |   | Secret. Masked in all output. |\n"
        "| `pin` | text | `********` | Secret too. Masked in all output. |\n"
        "| `kafka.producer.*` | several properties |   | The producer's own. |\n"
    )
