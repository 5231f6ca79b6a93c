"""Samples of a job's JSON file, and the picture drawn from them."""

import xml.etree.ElementTree as ET

from examples.spark.recording import Sample, picture, sample

TABLES = {
    "shop.a": {"created": 3, "updated": 2, "deleted": 1, "newest_write_us": 90_000_000},
    "shop.b": {"created": 1, "updated": 0, "deleted": 0, "newest_write_us": None},
}
STORE = {"bytes": 4096, "files": 2, "rows": 12}


def test_sample_sums_all_tables() -> None:
    assert sample({"tables": TABLES, "store": STORE}, 2.0, 100.0) == Sample(2.0, 7, 10.0, 12, 4096)


def test_job_without_applied_batch_reports_no_lag() -> None:
    assert sample({"tables": {}, "store": None}, 1.0, 100.0) == Sample(1.0, 0, None, None, None)


def test_picture_draws_line_per_value() -> None:
    samples = [Sample(1.0, 0, None, None, None), Sample(2.0, 7, 10.0, 12, 4096)]
    drawn = ET.fromstring(picture("A <run>", samples))
    lines = [each.get("points", "") for each in drawn.iter("{http://www.w3.org/2000/svg}polyline")]
    assert [len(each.split()) for each in lines] == [2, 1, 1, 1]
    assert ET.fromstring(picture("Empty", [])) is not None
