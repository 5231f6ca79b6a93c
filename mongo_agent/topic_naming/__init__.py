"""How topics are named by collections: pure functions, one file each way, as Debezium's strategies.

The names are those of `debezium-connector-common` 3.6.1, also where a name has to be changed.
"""

from collections.abc import Callable

Naming = Callable[[str, str], str]
"""Of a database and a collection their topic."""
