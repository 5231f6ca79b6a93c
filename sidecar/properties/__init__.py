"""Java properties files as typed, frozen configuration.

An agent declares its properties as a `Properties` model, one `prop` each; `load` fills it:

    class AgentProperties(SidecarProperties):
        cassandra_port: int = prop("cassandra.port", default=9042, doc="Native port.")

    loaded = load(AgentProperties, [Path("cdc.properties")])
    loaded.properties.cassandra_port
"""

from sidecar.properties.addresses import bare_host, broker_list
from sidecar.properties.documentation import (
    documentation_table,
    documentation_text,
    inert_table,
)
from sidecar.properties.loading import Loaded, load
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.references import resolve
from sidecar.properties.secrets import hiding
from sidecar.properties.show import Row, rows
from sidecar.properties.source import Origin, Setting, command_line_settings, read_properties
from sidecar.properties.topic_names import LONGEST_TOPIC, TopicPrefix, overlong_topics
from sidecar.properties.types import (
    NOTHING_NAMED,
    ByteSize,
    CommaList,
    LogLevelName,
    LowerCase,
    Milliseconds,
    Unit,
    UpperCase,
    kept,
)

__all__ = [
    "LONGEST_TOPIC",
    "NOTHING_NAMED",
    "ByteSize",
    "CommaList",
    "Loaded",
    "LogLevelName",
    "LowerCase",
    "Milliseconds",
    "Origin",
    "PassThrough",
    "Properties",
    "Row",
    "Setting",
    "TopicPrefix",
    "Unit",
    "UpperCase",
    "bare_host",
    "broker_list",
    "command_line_settings",
    "documentation_table",
    "documentation_text",
    "hiding",
    "inert_table",
    "kept",
    "load",
    "overlong_topics",
    "pass_through",
    "prop",
    "read_properties",
    "resolve",
    "rows",
]
