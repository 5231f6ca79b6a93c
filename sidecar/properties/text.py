"""Property values as text."""

from pydantic import SecretStr

MASK = "********"


def value_text(value: object) -> str:
    """A value as a file would contain it; empty for None."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case tuple() | list() | frozenset():
            return ",".join(value_text(item) for item in value)
        case SecretStr():
            return MASK
        case _:
            return str(value)
