"""Parts of the campaign that need no servers."""

import logging
from pathlib import Path

import pytest
from bson import decode, encode

from spark_jobs.errors import InputError
from tests.acceptance.strangers.mends import MENDS, REPOSITORY, overlay
from tests.acceptance.strangers.mongo_source import CODEC
from tests.acceptance.strangers.path import Difference, compared, verdict
from tests.acceptance.strangers.said import Said
from tests.support.strangers import bson_values
from tests.support.strangers.chance import Chance
from tests.support.strangers.cql import statement, strange_table

SEEDS = [f"7/{number}" for number in range(50)]


def test_random_choice_is_reproducible_and_covers_its_range() -> None:
    found = [Chance(seed).extent(1000, 10) for seed in SEEDS]
    assert found == [Chance(seed).extent(1000, 10) for seed in SEEDS]
    assert all(10 <= each <= 1000 for each in found)
    assert min(found) < 20 < 990 < max(found)
    chance = Chance(1)
    for bits in (2, 8, 64, 4000):
        drawn = [chance.integer(bits) for _ in range(200)]
        assert all(-(1 << bits - 1) <= each < 1 << bits - 1 for each in drawn)


def test_random_texts_are_valid_and_bounded() -> None:
    for chance in map(Chance, SEEDS):
        text = chance.text(60, forbidden="$", most_bytes=63)
        assert len(text.encode()) <= 63
        assert "$" not in text
        assert chance.twin(text or "a").encode()


def test_random_documents_survive_a_bson_round_trip() -> None:
    for chance in map(Chance, SEEDS):
        document = {"_id": bson_values.identity(chance), **bson_values.fields(chance)}
        raw = encode(document, codec_options=CODEC)
        document = decode(raw, CODEC)
        assert encode(document, codec_options=CODEC) == raw


def test_random_statements_match_their_table() -> None:
    for chance in map(Chance, SEEDS):
        table = strange_table(chance, "k", "t", ["reserved"], [])
        assert len(set(table.taken)) == len(table.taken)
        assert all(each.name[0].isascii() for each in table.others if each.type.is_multi_cell)
        assert table.create.startswith('CREATE TABLE "k"."t" (')
        assert '"k"."t"' in statement(chance, table, timed=0.5)


def test_message_naming_an_object_explains_its_differences() -> None:
    source = {("a.b", "1"): b"x", ("a.c", "1"): b"x", ("a.c", "2"): b"y"}
    target = {("a.b", "1"): b"x", ("a.c", "1"): b"z", ("a.c", "3"): b"y"}
    found = compared("table", source, target, {"a.c": ("a.c", "p.a.c")})
    assert [each.text.split(":")[0] for each in found] == ["1 differs", "2 is missing", "3 is left"]
    said = Said()
    assert [len(each) for each in verdict(found, said)] == [1, 0]
    said.add("Events of the topic p.a.c wait.")
    assert verdict(found, said) == ([], ["'Events of the topic p.a.c wait.'"])
    assert verdict([Difference("table", ("a.d",), "")], said)[0]


def test_resolved_condition_explains_nothing() -> None:
    said = Said()
    line = "2026-01-01T00:00:00Z WARNING sidecar.status.log: the topic a waits."
    said.read_log([line, "2026-01-01T00:00:00Z INFO    b: the topic b waits."])
    assert said.names("a waits") == line
    assert said.names("b waits") is None
    said.note(["the topic a waits."])
    assert said.names("a waits") == "the topic a waits."
    said.note(["Events are not delivered: b."])
    assert said.names("a waits") == "Events are not delivered: b."
    said.note([])
    assert said.names("a waits") is None


def test_error_without_a_message_is_a_finding_even_if_it_names_the_object() -> None:
    said = Said()
    (logger := logging.Logger("job")).addHandler(said)
    for error in (InputError("a.b: known"), ValueError("a.b: unknown")):
        logger.debug("stack trace", exc_info=error)
    said.read_log(["2026-01-01T00:00:00Z ERROR c: an unexpected error ended the process"])
    assert said.names("a.b") == "a.b: known"
    assert len(verdict([], said)[0]) == 2


@pytest.mark.parametrize("name", sorted(MENDS))
def test_mends_can_be_reverted(name: str, tmp_path: Path) -> None:
    place = overlay(name, tmp_path / "overlay")
    for file, _, by in MENDS[name]:
        text = (place / file).read_text()
        assert by in text
        assert text != (REPOSITORY / file).read_text()
        compile(text, file, "exec")
