"""Reads YAML of the node within bounds: of its size, its depth, and of what it may expand to."""

from typing import Any

import yaml

MAX_BYTES = 1 << 20
"""Cassandra's own cassandra.yaml has a tenth."""


_MOST_TEXT = 200


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        # Twenty lines with aliases can stand for a billion values.
        if self.check_event(yaml.AliasEvent):
            raise yaml.composer.ComposerError(
                None,
                None,
                "aliases are not supported",
                self.peek_event().start_mark,  # type: ignore[no-untyped-call]
            )
        return super().compose_node(parent, index)


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
