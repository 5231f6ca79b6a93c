"""Reads YAML of the node within bounds: of its size, its depth, and of what it may expand to."""

from typing import Any

import yaml

MAX_BYTES = 1 << 20
"""Cassandra's own cassandra.yaml has a tenth."""


_MOST_TEXT = 200
_MOST_NODES = 20_000
"""Cassandra's own has 500; half a million take 300 MiB and seconds."""


class _Loader(yaml.SafeLoader):
    _nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise self._unsupported(f"more than {_MOST_NODES} values are not supported")
        # Twenty lines with aliases can stand for a billion values.
        if self.check_event(yaml.AliasEvent):
            raise self._unsupported("aliases are not supported")
        return super().compose_node(parent, index)

    def _unsupported(self, what: str) -> yaml.YAMLError:
        mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
        return yaml.composer.ComposerError(None, None, what, mark)


def bounded_yaml(text: str) -> Any:
    """The document. Raises ValueError with the reason and the line."""
    if len(text) > MAX_BYTES:
        raise ValueError(f"has more than {MAX_BYTES >> 20} MiB")
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        problem = str(getattr(error, "problem", error))[:_MOST_TEXT]
        raise ValueError(f"is not valid YAML{where}: {problem}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    except (ValueError, OverflowError) as error:
        # Dates and numbers that Python cannot represent.
        raise ValueError("has an invalid date or number") from error
