"""docs/reference/mongodb-configuration.md, made from the model so that it cannot go stale."""

from mongo_agent.config.debezium import INERT
from mongo_agent.config.model import GROUPS
from sidecar.properties import documentation_table, inert_table

_INTRODUCTION = """\
# Configuration of the MongoDB agent

<!-- Made by `make docs` from mongo_agent/config; change it there. -->

The agent takes a Java properties file: `mongo-agent --config mongo.properties`. Names are those of
Debezium's connector for MongoDB, of its first releases and of the present ones, so its files work
here; what only this agent has stands between them. A single property can be given on the command
line, over the file: `--set http.port=8080`.

* Unknown names are errors, with the nearest known name. Every mistake is named at once, with file
  and line.
* `${env:NAME}` and `${file:/path}` in a value stand for an environment variable and the content of
  a file; `${file:/path:name}` for one property of a properties file; also inside a value. Any other
  `${…}` is an error; a literal `${` is written `$${`, in passwords too. Secrets are never shown.
* Sizes are bytes, or carry a unit: `64k`, `16Mi`, `64MiB`, `1g`, all powers of 1024.
* Durations are milliseconds, or carry a unit: `250ms`, `10s`, `5m`, `1h`, `1d`. `10m` is ten
  minutes in a duration and 10 MiB in a size. `mongo-agent config show` prints bytes
  and milliseconds.
* A comment needs a line of its own: `#` after a value is a part of the value.
* `mongo-agent config check` says what is wrong, `mongo-agent config show` what is in force and
  where each value comes from, `mongo-agent check` looks at MongoDB, the broker and the directories
  as well, and `mongo-agent plan` says which collections are captured.
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
