"""The page docs/evidence/mongodb-conformance.md, made from a run of all suites."""

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from tests.oracle.mongo_drivers.expectations import Expectations
from tests.oracle.mongo_drivers.results import Outcome
from tests.oracle.mongo_drivers.run import SuiteRun

_WIDTH = 118
_HEAD = """\
# MongoDB conformance

`make mongo-conformance` runs pymongo's own test suite against the test server of the project
(`tests/support/mongo_server`) and writes this page. It fetches the source archive of the release
in `requirements/mongo.lock` by pip. The tests in it include the unified tests of MongoDB's driver
specifications. The authors of pymongo and of the specifications wrote these cases.

The server is a replica set of one or three members on loopback and behaves as each release in
turn. An unexpected failure fails the command. So does a case that passes although
`tests/oracle/mongo_drivers/pymongo.toml` expects it to fail.

"""


def render(runs: Sequence[SuiteRun], expectations: Expectations, driver: str) -> str:
    """The whole page."""
    parts = [_HEAD, f"## Results with pymongo {driver}\n\n", *_table(runs)]
    parts += ["\n## Expected failures\n\n", *_failures(runs, expectations)]
    parts += ["\n## Not run\n\n", *_excluded(expectations)]
    parts += ["\n## Not supported\n\n", *_skipped(runs)]
    return "".join(parts).rstrip() + "\n"


def _table(runs: Sequence[SuiteRun]) -> Iterator[str]:
    yield "| suite | release | passed | failed | not supported |\n"
    yield "| --- | --- | ---: | ---: | ---: |\n"
    total: Counter[tuple[str, Outcome]] = Counter()
    for run in runs:
        counts = Counter(result.outcome for result in run.results.values())
        total.update({(run.series, outcome): count for outcome, count in counts.items()})
        yield _row(run.suite.name, run.series, [counts[outcome] for outcome in Outcome])
    for series in dict.fromkeys(run.series for run in runs):
        yield _row("all", series, [total[series, outcome] for outcome in Outcome])


def _row(name: str, series: str, counts: Sequence[int]) -> str:
    return f"| {name} | {series} | {' | '.join(f'{count:,}' for count in counts)} |\n"


def _failures(runs: Sequence[SuiteRun], expectations: Expectations) -> Iterator[str]:
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for case, result in run.results.items():
            if result.outcome is Outcome.FAILED:
                rule = expectations.failure(case, run.series)
                reason = "unexpected" if rule is None else rule.reason
                found[reason][case].append(run.series)
    if not found:
        yield "None.\n"
    yield from _lists(found, {run.series for run in runs})


def _excluded(expectations: Expectations) -> Iterator[str]:
    if not expectations.excluded:
        yield "None.\n"
    found = {rule.reason: {case: [""] for case in rule.cases} for rule in expectations.excluded}
    yield from _lists(found, {""})


def _skipped(runs: Sequence[SuiteRun]) -> Iterator[str]:
    yield "pymongo's suite skips these cases itself. Its reason stands before the cases.\n\n"
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        for case, result in run.results.items():
            if result.outcome is Outcome.SKIPPED:
                found[_code(result.reason)][case].append(run.series)
    yield from _lists(found, {run.series for run in runs})


def _lists(found: Mapping[str, Mapping[str, Sequence[str]]], all_series: set[str]) -> Iterator[str]:
    """For each reason a table of its cases."""
    for reason in sorted(found):
        yield f"{_wrapped(reason)}\n\n| case | class | releases |\n| --- | --- | --- |\n"
        for case in sorted(found[reason]):
            series = set(found[reason][case])
            owner, _, name = case.rpartition("::")
            where = "all" if series == all_series else ", ".join(sorted(series))
            yield f"| `{name}` | `{owner}` | {where} |\n"
        yield "\n"


def _code(text: str) -> str:
    """A foreign text as one line of code."""
    return f"`{text.replace('`', chr(39))}`"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
