"""Options of one transformation or predicate, under a prefix of property names."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar, overload

_FLAGS = {"true": True, "false": False}
Choice = TypeVar("Choice", bound=str)


class OptionReader:
    """Reads options and collects the problems; each names its property."""

    def __init__(self, prefix: str, options: Mapping[str, str]) -> None:
        self._prefix = prefix
        self._options = options
        self._read: set[str] = set()
        self._problems: list[str] = []
        self.warnings: list[str] = []

    @overload
    def text(self, name: str) -> str | None: ...
    @overload
    def text(self, name: str, default: str) -> str: ...
    def text(self, name: str, default: str | None = None) -> str | None:
        self._read.add(name)
        value = self._options.get(name)
        return default if value is None else value.strip()

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name, str(default)).lower()
        if value not in _FLAGS:
            self.reject(name, f"must be `true` or `false`, not `{value}`")
        return _FLAGS.get(value, default)

    def choice(self, name: str, values: Sequence[Choice], default: Choice) -> Choice:
        value = self.text(name, default).lower()
        found = next((each for each in values if each == value), None)
        if found is None:
            self.reject(name, f"must be {', '.join(values[:-1])} or {values[-1]}, not `{value}`")
        return found or default

    def list(self, name: str) -> tuple[str, ...]:
        parts = self.text(name, "").split(",")
        return tuple(part.strip() for part in parts if part.strip())

    def reject(self, name: str, reason: str) -> None:
        self._problems.append(f"`{self._prefix}{name}` {reason}.")

    def warn(self, name: str, reason: str) -> None:
        self.warnings.append(f"`{self._prefix}{name}` {reason}.")

    def absorb(self, other: "OptionReader") -> None:
        """Take over the problems of another reader."""
        self._problems += other.problems()

    def ignore_rest(self) -> None:
        """Report no unknown option."""
        self._read |= self._options.keys()

    def problems(self) -> Iterator[str]:
        """The problems, also of options that were not read."""
        yield from self._problems
        for name in sorted(self._options.keys() - self._read):
            yield f"`{self._prefix}{name}` is not a known option. Correct or remove it."
