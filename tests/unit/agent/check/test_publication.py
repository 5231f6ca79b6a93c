"""Published tables, and list entries that match nothing."""

from pathlib import Path
from typing import Any

import pytest

from agent.check.publication import create_publication, publication_of
from agent.check.tables import check_tables
from agent.config.loader import AgentConfig, load_config
from commitlog import Schema
from tests.support.agents.agent_directory import SCHEMA, AgentDir

PLAIN = SCHEMA.replace("ks.t ", "ks.plain ").replace("5a1c", "6a1c").replace("true", "false")


def config(tmp_path: Path, **changes: Any) -> AgentConfig:
    settings = {name.replace("_", "."): str(value) for name, value in changes.items()}
    return load_config([AgentDir(tmp_path).configuration(settings)], [])


def test_matching_lists_select_published_tables(tmp_path: Path) -> None:
    properties = config(
        tmp_path,
        table_include_list="ks.t,ks.[s-t]",
        table_exclude_list="ks.plain",
        field_exclude_list="ks.t.v",
    ).properties
    publication = publication_of(Schema.from_cql(SCHEMA + PLAIN), properties)
    assert publication.captured == publication.published == ("ks.t",)
    assert publication.unmatched == ()


@pytest.mark.parametrize(
    ("changes", "entry", "reason"),
    [
        ({"table_include_list": "ks.t,ks.orders"}, "ks.orders", "matches no table"),
        (
            {"table_include_list": "ks.t,ks.plain"},
            "ks.plain",
            "tables without cdc = true: ks.plain",
        ),
        ({"table_exclude_list": "ks.orders"}, "ks.orders", "matches no table"),
        ({"field_exclude_list": "ks.t.v,ks.t.w"}, "ks.t.w", "there is no such column"),
        ({"field_exclude_list": "ks.t.k"}, "ks.t.k", "primary key are always published"),
    ],
)
def test_list_entry_without_effect_is_reported(
    changes: dict[str, str], entry: str, reason: str, tmp_path: Path
) -> None:
    schema, properties = Schema.from_cql(SCHEMA + PLAIN), config(tmp_path, **changes).properties
    (unmatched,) = publication_of(schema, properties).unmatched
    assert (unmatched.entry, reason in unmatched.reason) == (entry, True)


def test_publication_is_computed_once_per_schema(tmp_path: Path) -> None:
    publication = create_publication(config(tmp_path).properties)
    schema = Schema.from_cql(SCHEMA)
    assert publication(schema) is publication(schema)
    assert publication(Schema.from_cql(PLAIN)).captured == ()


def test_suffixed_column_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    older = SCHEMA.replace("v text", '"a-b" text')
    newer = SCHEMA.replace("v text", '"a-b" text, a_b text')
    properties = config(
        tmp_path, value_converter="avro", value_converter_schema_registry_url="http://localhost:9"
    ).properties
    publication = create_publication(properties)
    known = Schema.from_cql(older, seen_at_us=1)
    assert publication(known).suffixed == ()
    known = known.merged(Schema.from_cql(newer, seen_at_us=3_600_000_000))
    (suffixed,) = publication(known).suffixed
    assert suffixed.startswith("ks.t.a_b as a_b_")
    publication(known.merged(Schema.from_cql(newer, seen_at_us=7_200_000_000)))
    (record,) = caplog.records
    assert (record.levelname, suffixed in record.getMessage()) == ("WARNING", True)
    assert "column_name_suffixed" in {each.code for each in check_tables(publication(known))}
