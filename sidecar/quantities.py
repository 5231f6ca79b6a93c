"""Formats durations and sizes for messages. The status page uses the same formats."""

_MINUTE_S, _HOUR_S, _DAY_S = 60.0, 3600.0, 86400.0


def duration_text(seconds: float) -> str:
    """Format a duration: `3.2 s`, `90 s`, `4 min`, `2.5 h`, `3 days`."""
    if round(seconds) < 2 * _MINUTE_S:
        return (
            f"{seconds:.0f} s"
            if seconds >= 10 or float(seconds).is_integer()
            else f"{seconds:.1f} s"
        )
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.0f} min"
    if seconds < 2 * _DAY_S:
        return f"{seconds / _HOUR_S:.1f} h"
    return f"{seconds / _DAY_S:.0f} days"


def size_text(size_bytes: float) -> str:
    """Format a size with its unit: `1536` as `1.5 KiB`."""
    size = float(size_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"
