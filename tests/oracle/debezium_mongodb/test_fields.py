"""Excluded and renamed fields, compared with Debezium's field selector.

Two differences remain: Debezium applies a rule only to the first of several updated fields around
its field, so each name occurs once in `updatedFields`; and Debezium rejects rules with equal
paths.
"""

import json
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.debezium_mongodb.engines import jars
from tests.support.mongodb.bson_documents import Json, encoded, event
from tests.support.mongodb.encodings import encoder
from tests.support.seeds import draw_seed
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled

_SOURCE = Path(__file__).parent / "java" / "RuledFields.java"
_JAVA = 21
_CASES = 5000
_NAMES = "abcd"
_PATTERNS = ("shop.cust", "*.cust", "s*p.*", "*.*", "SHOP.Cust", "shop.other", "*.customers")


@dataclass(frozen=True)
class Case:
    """Rules, a document, and fields of an update."""

    excluded: tuple[str, ...]
    renamed: tuple[str, ...]
    document: Json
    updated: Json


def random_case(rng: random.Random) -> Case:
    paths = {".".join(rng.choices(_NAMES, k=rng.randrange(1, 4))) for _ in range(rng.randrange(4))}
    excluded, renamed = [], []
    for path in sorted(paths):
        rule = f"{rng.choice(_PATTERNS)}.{path}"
        # An outermost field does not get the name of another one, which would then occur twice.
        new_name = rng.choice("abcdefgh" if "." in path else "efgh")
        if rng.random() < 0.5 or new_name == path[-1]:
            excluded.append(rule)
        else:
            renamed.append(f"{rule}:{new_name}")
    updated = {}
    for name in rng.sample(_NAMES, rng.randrange(4)):
        deeper = rng.choices((*_NAMES, "0", "1"), k=rng.randrange(4))
        updated[".".join([name, *deeper])] = random_value(rng, 3)
    return Case(tuple(excluded), tuple(renamed), random_document(rng, 4), updated)


def random_document(rng: random.Random, depth: int) -> Json:
    names = rng.sample(_NAMES, rng.randrange(len(_NAMES) + 1))
    return {name: random_value(rng, depth - 1) for name in names}


def random_value(rng: random.Random, depth: int) -> object:
    if depth <= 0 or rng.random() < 0.3:
        return rng.choice((None, 1, "x", True, 2.5))
    if rng.random() < 0.6:
        return random_document(rng, depth)
    return [random_value(rng, depth - 1) for _ in range(rng.randrange(3))]


def ours(case: Case) -> tuple[str | None, str | None]:
    """Document and updated fields as JSON; None if rejected."""
    rules: dict[str, Any] = {"excluded_fields": case.excluded, "renamed_fields": case.renamed}
    batch = encoder(document_json="relaxed", **rules).encode(
        [
            event("insert", fullDocument=case.document),
            event("update", updateDescription={"updatedFields": case.updated}),
        ]
    )
    refused = {each.event for each in batch.failures}
    values = [json.loads(value or b"") for _, _, value, _, _ in batch.messages(0, len(batch))]
    after = None if 0 in refused else values.pop(0)["after"]
    updated = None if 1 in refused else values.pop(0)["updateDescription"]["updatedFields"]
    return after, updated


def debeziums(cases: Sequence[Case]) -> list[tuple[str | None, str | None]]:
    folder = jars()
    classes = compiled([_SOURCE], folder, release=17)
    lines = (
        "\t".join(
            (
                ",".join(case.excluded),
                ",".join(case.renamed),
                encoded(case.document).hex(),
                encoded(case.updated).hex(),
            )
        )
        for case in cases
    )
    done = subprocess.run(
        [str(java(_JAVA)), "-cp", f"{classes}:{folder}/*", "RuledFields"],
        input="".join(f"{line}\n" for line in lines),
        check=True,
        capture_output=True,
        text=True,
    )
    found = []
    for line in done.stdout.splitlines():
        after, updated = (None if text == "!" else text for text in line.split("\t"))
        found.append((after, updated))
    return found


def meaning(texts: tuple[str | None, str | None]) -> list[str | None]:
    """Keeps the order of members, which renaming changes."""
    return [None if text is None else json.dumps(json.loads(text)) for text in texts]


@pytest.mark.servers
@pytest.mark.parametrize("which", ["fixed", pytest.param("fresh", marks=pytest.mark.slow)])
def test_field_rules_equal_those_of_debezium(which: str) -> None:
    seed = 7 if which == "fixed" else draw_seed()
    rng = random.Random(seed)
    cases = [random_case(rng) for _ in range(_CASES)]
    for case, theirs in zip(cases, debeziums(cases), strict=True):
        assert meaning(ours(case)) == meaning(theirs), case
