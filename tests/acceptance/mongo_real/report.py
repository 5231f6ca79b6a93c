"""The results of a proof as Markdown and JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

Outcome = Literal["passed", "failed", "not applicable", "not run"]


@dataclass(frozen=True, slots=True)
class Result:
    """Of one case on one deployment. `note` has its figures, the reason or the failure."""

    deployment: str
    case: str
    outcome: Outcome
    seconds: float
    note: str


@dataclass(frozen=True, slots=True)
class Report:
    """Of a whole run. `begun` is the time in UTC."""

    begun: str
    agent: str
    seed: int
    results: Sequence[Result]

    @property
    def has_failed(self) -> bool:
        return any(each.outcome in ("failed", "not run") for each in self.results)

    def json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    def markdown(self) -> str:
        lines = [
            "# MongoDB proof on a real deployment",
            "",
            f"{self.begun}, mongo-agent {self.agent}, seed {self.seed}.",
        ]
        for deployment in dict.fromkeys(each.deployment for each in self.results):
            lines += [
                "",
                f"## {deployment}",
                "",
                "| case | result | seconds | |",
                "| --- | --- | --- | --- |",
            ]
            lines += [_row(each) for each in self.results if each.deployment == deployment]
        return "\n".join(lines) + "\n"


def _row(result: Result) -> str:
    note = result.note.replace("|", "\\|").replace("\n", "<br>")
    return f"| {result.case} | {result.outcome} | {result.seconds:.1f} | {note} |"
