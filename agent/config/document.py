"""docs/reference/configuration.md, made from the model so that it cannot go stale."""

from agent.config.debezium import INERT
from agent.config.model import GROUPS
from sidecar.properties import documentation_table, inert_table

_INTRODUCTION = """\
# Configuration

<!-- Made by `make docs` from agent/config; change it there. -->

The agent takes a Java properties file: `agent --config cdc.properties`. Names are those of
Debezium's connector for Cassandra, of its first releases and of the present ones, so its files work
here; what only this agent has stands between them. A single property can be given on the command
line, over the file: `--set http.port=8080`.

* Unknown names are errors, with the nearest known name. Every mistake is named at once, with file
  and line.
* `${env:NAME}` and `${file:/path}` in a value stand for an environment variable and the content of
  a file; `${file:/path:name}` for one property of a properties file; also inside a value. Any other
  `${…}` is an error; a literal `${` is written `$${`, in passwords too. Secrets are never shown.
* Sizes are bytes, or carry a unit: `64k`, `16Mi`, `64MiB`, `1g`, all powers of 1024.
* Durations are milliseconds, or carry a unit: `250ms`, `10s`, `5m`, `1h`, `1d`. `10m` is ten
  minutes in a duration and 10 MiB in a size. `agent config show` prints bytes and milliseconds.
* A comment needs a line of its own: `#` after a value is a part of the value.
* `agent config check` says what is wrong, `agent config show` what is in force and where each value
  comes from, and `agent check` looks at the node, the broker and the directories as well.
"""

_INERT = """\
## Accepted without effect

These belong to Debezium's connector or to Kafka Connect and change nothing here. Each that is set
gives a warning at the start.

"""


def configuration_document() -> str:
    """The whole page in Markdown."""
    parts = [_INTRODUCTION]
    parts += [f"## {heading}\n\n{documentation_table(model)}" for heading, model in GROUPS]
    parts.append(_INERT + inert_table(INERT))
    return "\n".join(parts)
