"""Which writes count, and when."""

from spark_jobs.rebuild.window import Window

NOW_US = 9_000_000


def test_up_to_a_time() -> None:
    window = Window(NOW_US, until_us=5_500_000)
    assert [window.admits(each) for each in (5_500_000, 5_500_001)] == [True, False]
    assert (window.second, window.complete_to_us) == (5, 5_500_000)
    assert window.undo_us == NOW_US


def test_without_a_window() -> None:
    window = Window(NOW_US, without_us=(3, 5))
    assert [window.admits(each) for each in (2, 3, 5, 6)] == [True, False, False, True]
    assert (window.second, window.complete_to_us) == (9, 2)
    # A write right after the window takes precedence over what undoes it.
    assert window.undo_us == 6


def test_everything() -> None:
    window = Window(NOW_US)
    assert window.admits(1 << 62)
    assert window.complete_to_us == NOW_US
    assert window.merge_options([7]) == {
        "now_s": 9,
        "truncated_us": 7,
        "until_us": None,
        "without_us": None,
    }


def test_the_last_truncation_that_counts() -> None:
    assert Window(NOW_US, without_us=(3, 5)).truncated_us([1, 2, 4]) == 2
    assert Window(NOW_US, until_us=1).truncated_us([2]) is None
