"""The writes that count for a rebuilt table. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Window:
    """The writes up to `until_us`, or those outside of `without_us` (both included), or all.

    Times are write times in microseconds. `now_us` is the present time.
    """

    now_us: int
    until_us: int | None = None
    without_us: tuple[int, int] | None = None

    @property
    def second(self) -> int:
        """The second at which expiry is evaluated."""
        return (self.now_us if self.until_us is None else self.until_us) // _US

    @property
    def now_s(self) -> int:
        return self.now_us // _US

    @property
    def complete_to_us(self) -> int:
        """All writes up to this time count, so a source needs to have them as they were then."""
        if self.without_us is not None:
            return self.without_us[0] - 1
        return self.now_us if self.until_us is None else self.until_us

    @property
    def undo_us(self) -> int:
        """The write time of statements that undo the other writes.

        It is the first one after a window, so that later writes take precedence.
        """
        return self.now_us if self.without_us is None else self.without_us[1] + 1

    def admits(self, written_us: int) -> bool:
        if self.without_us is not None:
            return not self.without_us[0] <= written_us <= self.without_us[1]
        return self.until_us is None or written_us <= self.until_us

    def truncated_us(self, markers_us: Iterable[int]) -> int | None:
        """The last truncation that counts."""
        return max(filter(self.admits, markers_us), default=None)

    def merge_options(self, markers_us: Iterable[int]) -> dict[str, Any]:
        """Arguments of `Merger.rows` and `Merger.typed`."""
        return {
            "now_s": self.second,
            "truncated_us": self.truncated_us(markers_us),
            "until_us": self.until_us,
            "without_us": self.without_us,
        }
