"""Records `examples/quickstart`: a node of a web shop, its `cdc_raw` and its schema."""

from pathlib import Path

from tests.support.record.folder import new_folder, write_segments
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.workloads import shop

_WRITES_A_PAGE_VIEW = 32


def record(target: Path, scratch: Path) -> int:
    """Fill `target/cdc_raw` and `target/schema.cql`; gives the number of segments.

    The shop's own page views fill the segments and a clean stop completes the last one, so that the
    schema knows every table.
    """
    settings = NodeSettings(cluster_name="quickstart")
    with CassandraNode(scratch / "node", settings=settings) as node:
        for statement in shop.SCHEMA:
            node.execute(statement)
        for number, statement in enumerate(shop.statements()):
            node.execute(statement)
            if number % _WRITES_A_PAGE_VIEW == 0:
                node.execute(shop.PAGE_VIEW, shop.page_view(number // _WRITES_A_PAGE_VIEW))
        schema = node.describe_schema()
        node.stop()
        segments = [each.path for each in node.cdc_segments() if each.is_completed]
        write_segments(new_folder(target / "cdc_raw"), segments)
        (target / "schema.cql").write_text(schema, encoding="utf-8")
        return len(segments)
