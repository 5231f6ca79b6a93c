"""State files of a release, recorded by running it: `tests/fixtures/state/<version>`.

    python -m tests.support.record.state --programs /opt/release/bin

The release works beside a real node (Cassandra's agent) or the replica set of the tests (MongoDB's)
and is stopped in the middle of its work. Tests of later versions resume from its files.
"""
