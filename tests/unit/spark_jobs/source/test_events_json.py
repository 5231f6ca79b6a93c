"""JSON beyond Jackson's limits, and members with wrong types."""

import ast
import json
import random
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.source.events import UNREAD, json_value

SPARK_JOBS = Path(__file__).resolve().parents[4] / "spark_jobs"
MEMBERS = "text: string, number: bigint, part: struct<text: string, number: bigint>"
LIMITED = {"from_json", "get_json_object", "json_tuple", "schema_of_json", "try_parse_json"}
WRONG = ["true", '"x"', "1.5", "[]", "{}", "1" * 30, "nul"]


def test_json_is_parsed_by_one_function() -> None:
    found = {
        (file.relative_to(SPARK_JOBS).as_posix(), node.attr)
        for file in SPARK_JOBS.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in LIMITED
    }
    assert found == {("source/events.py", "from_json")}


def test_no_json_value_silently_becomes_null(spark: SparkSession) -> None:
    """Every member equals Python's parsed value, or `UNREAD` contains the text."""
    draw = random.Random(7)
    texts = []
    for _ in range(300):
        size = draw.choice([0, 1, 5_000])
        members = {
            "text": json.dumps(draw.choice(["x", 'é"\\', "\n"]) * size),
            "number": str(draw.randrange(-(1 << 63), 1 << 63)),
            "other": "9" * draw.choice([1, 3_000]),
        }
        if draw.random() < 0.5:
            members[draw.choice(["text", "number"])] = draw.choice(WRONG)
        value = "{%s}" % ",".join(f'"{name}":{text}' for name, text in members.items())  # noqa: UP031
        texts.append(draw.choice([value, f'{{"part":{value}}}', value[: draw.randrange(50)]]))
    rows = spark.createDataFrame([(text,) for text in texts], "json string")
    found = rows.select("json", json_value(F.col("json"), MEMBERS).alias("value")).collect()
    read = 0
    for row in found:
        if row["value"] is None or row["value"][UNREAD] is not None:
            continue
        read += 1
        expected = json.loads(row["json"])
        for place, value in (
            (expected, row["value"]),
            (expected.get("part"), row["value"]["part"]),
        ):
            for name in ("text", "number"):
                if place is not None and name in place:
                    assert value[name] is not None, row["json"]
                    if isinstance(place[name], type(value[name])):
                        assert value[name] == place[name]
    assert 50 < read < len(texts)


def test_json_text_beyond_jackson_limit_is_read(spark: SparkSession) -> None:
    """MongoDB documents and Cassandra cells can reach this size in JSON."""
    size = random.randrange(20_000_001, 30_000_000)
    text = F.concat(F.lit('{"text":"'), F.repeat(F.lit("a"), size), F.lit('"}'))
    value = json_value(text, MEMBERS)
    (row,) = (
        spark.range(1)
        .select(F.length(value["text"]).alias("n"), value[UNREAD].alias("u"))
        .collect()
    )
    assert (row["n"], row["u"]) == (size, None)
