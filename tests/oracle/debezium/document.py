"""docs/reference/debezium-differences.md, written from the recording."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill, wrap
from typing import Any

from tests.oracle.debezium.case import Chapter
from tests.oracle.debezium.cases import CHAPTERS
from tests.oracle.debezium.differences import FLAWS, Flaw, flaw_of
from tests.oracle.debezium.next_release import Results
from tests.oracle.debezium.recording import CaseRecord, Sent
from tests.support.servers.cache import REPOSITORY
from tests.support.servers.cassandra_settings import VERSIONS
from tests.support.servers.debezium import VERSION

PATH = REPOSITORY / "docs" / "reference" / "debezium-differences.md"

Pairs = Sequence[tuple[CaseRecord, Sequence[Sent]]]
"""Each case with our events."""

_MAX_NAMES = 8
"""A flaw with more cases shows their number, not their names."""

_HEAD = f"""# Differences from Debezium's events

This page compares the events of `cdc-sidecar` with those of Debezium's connector on the same
segments. `python -m tests.oracle.debezium --document` writes it from a recording of Apache
Cassandra {VERSIONS[0]} and Debezium's connector for Cassandra 5 {VERSION}. The connector has its
defaults (JSON without schemas), `cdc-sidecar` has `event.cells=false`. `make fixtures` records
again, `make peer` compares live.

The examples show `op`, the key and the non-null members of `after`. A column with
`"deletion_ts": null` appears as its value alone. Two members always differ: `ts_ms` is the sender's
clock, `source.version` the sender's version.

A mutation with several events has one more difference: `source.ts_ms`, `ts_us` and `ts_ns`. With
Debezium they are the largest write time of the whole partition update, here that of the event.

## 1. Where Debezium is wrong
"""

_SAME = """## 2. Equal events

In the other {cases} cases with {events} events, keys and values are equal as JSON, in the same
order within each topic. Times are equal where a mutation gives one event. Neither sends anything
for these cases:

{silent}

| chapter | number of cases |
| --- | --- |"""


_NEXT = """
## 3. Cassandra {cassandra}

Debezium's connector for Cassandra 5 {debezium} and `cdc-sidecar` read the log of one node of
Cassandra {cassandra} with {changes} changes. `cdc-sidecar` reads a copy, because the connector
removes the segments that it has read. `make peer ARGS=--next-release` records these results.

| {columns} |
| --- | --- | ---: | ---: | ---: | --- |
"""
_NEXT_COLUMNS = (
    *("`storage_compatibility_mode`", "commit log", "Debezium", "`cdc-sidecar`"),
    *("segments left", "`healthy` of Debezium"),
)


def document(pairs: Pairs, results: Results) -> str:
    """The whole text."""
    parts = [_HEAD]
    parts += [_flaw(flaw, pairs) for flaw in FLAWS]
    right = [(case, found) for case, found in pairs if flaw_of(case.name) is None]
    events = sum(len(found) for _, found in right)
    silent = "\n".join(f"* {_escaped(case.name)}" for case, found in right if not found)
    parts.append(_SAME.format(cases=len(right), events=events, silent=silent))
    parts += [_chapter(chapter) for chapter in CHAPTERS]
    parts.append(_next_release(results))
    return "\n".join(part for part in parts if part)


def _next_release(results: Results) -> str:
    lines = [
        f"| `{each.mode}` | version {each.segment_version} | {each.debezium} | {each.cdc_sidecar} "
        f"| {each.segments_left} | {str(each.is_healthy).lower()} |"
        for each in results.modes
    ]
    head = _NEXT.format(
        cassandra=results.cassandra,
        debezium=results.debezium,
        changes=results.changes,
        columns=" | ".join(_NEXT_COLUMNS),
    )
    causes = dict.fromkeys(each.cause for each in results.modes if each.cause)
    shown = [line for cause in causes for line in ("", "```text", *_wrapped([cause]), "```")]
    if shown:
        shown = ["", "The first cause in the log of the connector:", *shown]
    return head + "\n".join([*lines, *shown, ""])


def _flaw(flaw: Flaw, pairs: Pairs) -> str:
    """The first case, and the names of a few others or their number."""
    shown = [(case, found) for case, found in pairs if flaw_of(case.name) is flaw]
    names = [_escaped(case.name) for case, _ in shown[1:]]
    lines = [f"### {flaw.title}", "", fill(flaw.reason, 100), "", *_case(*shown[0]), ""]
    if len(names) > _MAX_NAMES:
        lines += [f"{len(names)} other cases differ in the same way.", ""]
    elif names:
        lines += ["Also:", "", *(f"* {name}" for name in names), ""]
    return "\n".join(lines)


def _case(case: CaseRecord, ours: Sequence[Sent]) -> list[str]:
    return [
        *(f"**{_escaped(case.name)}**", "", "```sql"),
        *_wrapped(f"{text};" for text in case.statements),
        *("```", "", "```text", "Debezium:"),
        *_wrapped([f"  {_shown(event)}" for event in case.sent] or ["  (nothing)"]),
        *_wrapped(f"  {line}" for line in case.log[-1:]),
        "cdc-sidecar:",
        *_wrapped(f"  {_shown(event)}" for event in ours),
        "```",
    ]


def _wrapped(lines: Iterable[str]) -> Iterator[str]:
    """Lines of code, with continuation lines where they are too long for a page."""
    for line in lines:
        indent = line[: len(line) - len(line.lstrip())]
        yield from wrap(
            line.strip(),
            118,
            initial_indent=indent,
            subsequent_indent=f"{indent}    ",
            break_on_hyphens=False,
        )


def _shown(event: Sent) -> str:
    after = {
        name: _column(member) for name, member in event.value["after"].items() if member is not None
    }
    key = json.dumps(event.key, ensure_ascii=False)
    return f"{event.value['op']} {key} {json.dumps(after, ensure_ascii=False)}"


def _column(member: Any) -> Any:
    if set(member) == {"value", "deletion_ts", "set"} and member["deletion_ts"] is None:
        return member["value"]
    if set(member) == {"method", "values"}:
        return [member["method"], *({v["name"]: v["value"]} for v in member["values"])]
    return {name: each for name, each in member.items() if name != "set"}


def _chapter(chapter: Chapter) -> str:
    """The groups of cases, with the number of cases in each."""
    groups = Counter(case.group for case in chapter.cases if flaw_of(case.name) is None)
    by_number: dict[int, list[str]] = {}
    for group, cases in groups.items():
        by_number.setdefault(cases, []).append(_escaped(group) or "various")
    cells = [
        f"{number}{' each' if len(names) > 1 else ''}: {', '.join(names)}"
        for number, names in sorted(by_number.items())
    ]
    return f"| {chapter.title} | {'; '.join(cells)} |" if cells else ""


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("*", r"\*").replace("<", "&lt;").replace("_", r"\_")
