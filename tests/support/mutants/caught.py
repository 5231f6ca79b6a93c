"""The results: which test caught which mutant."""

import json
from pathlib import Path
from typing import Any

from tests.support.mutants.modules import MODULES
from tests.support.mutants.mutant import Mutant
from tests.support.mutants.trial import Outcome

CAUGHT = Path(__file__).with_name("caught.json")


class Results:
    """A file of results by mutant, written after each one, so that a stopped run goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._by_id: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._by_id = json.loads(path.read_text(encoding="utf-8"))

    def __contains__(self, mutant_id: str) -> bool:
        return mutant_id in self._by_id

    def add(self, mutant_id: str, outcome: Outcome) -> None:
        """Also after a trial with other tests, which the mutant survived."""
        before = str(self._by_id.get(mutant_id, {}).get("tried", ""))
        self._put(
            mutant_id,
            caught=outcome.test is not None,
            test=outcome.test,
            tier=outcome.tier,
            tried="".join(sorted({*before, *outcome.tried})),
            seconds=outcome.seconds,
        )

    def add_gone(self, mutant_id: str, reason: str) -> None:
        """A mutant whose place is gone: the code has changed, and another mutant is needed."""
        self._put(mutant_id, caught="gone", reason=reason)

    def _put(self, mutant_id: str, **result: Any) -> None:
        self._by_id[mutant_id] = result
        text = json.dumps(dict(sorted(self._by_id.items())), indent=1, ensure_ascii=False)
        self._path.write_text(f"{text}\n", encoding="utf-8")

    def keep_equivalent(self, mutant_id: str, before: "Results") -> bool:
        """Takes over that a mutant changes nothing; False where `before` does not name it so."""
        result = before._by_id.get(mutant_id, {})
        if result.get("caught") != "equivalent":
            return False
        self._put(mutant_id, **result)
        return True

    def table(self) -> list[str]:
        """A line for each module: drawn, caught, equivalent, survived, gone."""
        lines = [f"{'module':<14} drawn caught equivalent survived gone"]
        for name in MODULES:
            each = [
                result["caught"]
                for mutant_id, result in self._by_id.items()
                if mutant_id.rpartition("-")[0] == name
            ]
            counts = [sum(value == kind for value in each) for kind in (True, "equivalent")]
            counts += [sum(value == kind for value in each) for kind in (False, "gone")]
            caught, equivalent, survived, gone = counts
            lines.append(
                f"{name:<14} {len(each):>5} {caught:>6} {equivalent:>10} {survived:>8} {gone:>4}"
            )
        return lines

    def lost(self, before: "Results") -> list[str]:
        """The mutants that were caught before and are not now."""
        return [
            mutant_id
            for mutant_id, result in self._by_id.items()
            if result["caught"] is False and before._by_id.get(mutant_id, {}).get("caught") is True
        ]


def chosen(mutants: list[Mutant], module: str | None, only: tuple[str, ...]) -> list[Mutant]:
    """The mutants of a module, or those with an id; all without either."""
    return [
        mutant
        for mutant in mutants
        if (module is None or mutant.module == module) and (not only or mutant.id in only)
    ]
