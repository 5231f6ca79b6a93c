"""Deletions that can be purged."""


def is_purgeable(ldt_s: int, *, now_s: int, gc_grace_s: int, lag_s: int) -> bool:
    """Whether a deletion, a tombstone or an expired cell no longer affects any read.

    After `gc_grace_s` every replica has it, as in Cassandra itself. If the topics lag by less than
    `lag_s`, no write that it covers can arrive any more.
    """
    return ldt_s < now_s - gc_grace_s - lag_s
