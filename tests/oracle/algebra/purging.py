"""What may be forgotten for good."""


def is_purgeable(ldt_s: int, *, now_s: int, gc_grace_s: int, lag_s: int) -> bool:
    """Whether a deletion, a tombstone or an expired cell has no more to say.

    It has said it to every replica within `gc_grace_s`, as Cassandra itself counts, and nothing
    that it covers can come from the topics any more once they are behind by less than `lag_s`.
    """
    return ldt_s < now_s - gc_grace_s - lag_s
