"""The limit of `cdc_raw`, queried until it is known."""

from agent.cdc_raw.quota import Quota, watch_quota
from tests.support.servers.processes import wait_until


def test_the_quota_is_asked_for_until_it_is_known() -> None:
    answers = [Quota(None, "no SELECT permission.", "GRANT"), Quota(None, "no."), Quota(1000)]
    reported: list[Quota] = []
    expected = list(answers)
    with watch_quota(lambda: answers.pop(0), reported.append, interval_s=0.01):
        wait_until(lambda: reported == expected, "the limit")
    assert [quota.is_missing for quota in reported] == [True, True, False]
