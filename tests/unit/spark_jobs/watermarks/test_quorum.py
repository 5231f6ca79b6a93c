"""How many replicas must be complete for each consistency level."""

from itertools import combinations

import pytest

from spark_jobs.errors import InputError
from spark_jobs.watermarks.quorum import WriteConsistency, replica_rule

CLASS = "org.apache.cassandra.locator.NetworkTopologyStrategy"
TWO = {"class": CLASS, "dc1": "3", "dc2": "2"}


def needed(consistency: WriteConsistency, options: dict[str, str]) -> dict[str | None, int]:
    rule = replica_rule(options, consistency)
    return {group.data_center: group.needed for group in rule.groups}


@pytest.mark.parametrize("replicas", range(1, 8))
@pytest.mark.parametrize("consistency", ["ONE", "TWO", "THREE", "QUORUM", "ALL"])
def test_needed_complete_replicas_include_an_acknowledging_one(
    replicas: int, consistency: WriteConsistency
) -> None:
    few = {"ONE": 1, "TWO": 2, "THREE": 3, "QUORUM": replicas // 2 + 1, "ALL": replicas}
    written = few[consistency]
    if written > replicas:
        return
    options = {"class": "SimpleStrategy", "replication_factor": str(replicas)}
    count = needed(consistency, options)[None]
    for acknowledged in combinations(range(replicas), written):
        assert all(
            set(acknowledged) & set(complete) for complete in combinations(range(replicas), count)
        )
    # One replica fewer would not suffice.
    assert count == 1 or replicas - written >= count - 1


def test_consistency_level_applies_per_data_center() -> None:
    assert needed("QUORUM", TWO) == {None: 3}
    assert needed("LOCAL_QUORUM", TWO) == {"dc1": 2, "dc2": 1}
    assert needed("LOCAL_ONE", TWO) == {"dc1": 3, "dc2": 2}
    assert needed("EACH_QUORUM", TWO) == {"dc1": 2, "dc2": 1}
    assert replica_rule(TWO, "EACH_QUORUM").is_any
    simple = {"class": "SimpleStrategy", "replication_factor": "3"}
    assert needed("LOCAL_ONE", simple) == {None: 3}
    assert needed("LOCAL_QUORUM", simple) == {None: 2}


def test_transient_replicas_count_but_empty_data_centers_do_not() -> None:
    assert needed("ALL", {"class": CLASS, "dc1": "3/1", "dc2": "0"}) == {None: 1}


def test_unsupported_replication_is_rejected() -> None:
    with pytest.raises(InputError, match="EverywhereStrategy"):
        replica_rule({"class": "org.apache.cassandra.locator.EverywhereStrategy"}, "ONE")
    with pytest.raises(InputError, match="no replicas"):
        replica_rule({"class": CLASS}, "ONE")
