"""Topic naming strategies, as in Debezium: pure functions, one module for each strategy.

Names equal those of `debezium-connector-common` 3.6.1, also after replacement of characters.
"""

from collections.abc import Callable

Naming = Callable[[str, str], str]
"""Maps a database and a collection to a topic."""
