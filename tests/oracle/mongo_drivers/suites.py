"""The parts of the drivers' tests that run here, by subject, and the releases of the server."""

from dataclasses import dataclass

RELEASES = ("5.0.31", "6.0.20", "8.0.4")


@dataclass(frozen=True)
class Suite:
    """Cases about one subject. `members` is the size of the replica set.

    `parts` are modules of pymongo's package `test`. For the Go driver they are patterns of tests
    after the name of their package: `integration/TestCursor$`.
    """

    name: str
    parts: tuple[str, ...]
    members: int = 1


PYMONGO = (
    Suite("change streams", ("test_change_stream",)),
    Suite("sessions", ("test_session", "test_sessions_unified", "test_causal_consistency"), 3),
    Suite("transactions", ("test_transactions", "test_transactions_unified"), 3),
    Suite("retryable reads", ("test_retryable_reads", "test_retryable_reads_unified")),
    Suite("retryable writes", ("test_retryable_writes", "test_retryable_writes_unified")),
    Suite("unified test format", ("test_unified_format",)),
    Suite("commands and cursors", ("test_run_command", "test_read_write_concern_spec")),
    Suite("load balancers", ("test_load_balancer",)),
    Suite(
        "server discovery",
        (
            "test_discovery_and_monitoring",
            "test_sdam_monitoring_spec",
            "test_topology",
            "test_server_selection",
            "test_server_selection_in_window",
            "test_server_selection_rtt",
            "test_server_description",
            "test_max_staleness",
            "test_heartbeat_monitoring",
            "test_monitor",
            "test_streaming_protocol",
            "test_hello_latched",
            "test_connections_survive_primary_stepdown_spec",
        ),
        3,
    ),
    Suite("connection pools", ("test_pooling", "test_connection_monitoring")),
)

GO = (
    Suite(
        "change streams",
        ("integration/TestChangeStream_ReplicaSet", "unified/TestUnifiedSpec/change-streams"),
    ),
    Suite(
        "sessions",
        (
            "integration/TestSession(s|Pool|sProse)$",
            "integration/TestCausalConsistency_Supported",
            "unified/TestUnifiedSpec/sessions",
        ),
        3,
    ),
    Suite(
        "transactions",
        (
            "integration/TestUnifiedSpecs/(transactions|convenient)",
            "unified/TestUnifiedSpec/transactions",
        ),
        3,
    ),
    Suite(
        "retryable reads",
        ("integration/TestRetryableReadsProse", "integration/TestUnifiedSpecs/retryable-reads"),
    ),
    Suite(
        "retryable writes",
        (
            "integration/TestRetryableWrites(Prose|Spec)",
            "unified/TestUnifiedSpec/retryable-writes",
        ),
    ),
    Suite("unified test format", ("unified/TestUnifiedSpec/unified-test-format",)),
    Suite(
        "commands and cursors",
        (
            "integration/TestClient$",
            "integration/TestCollection",
            "integration/TestCursor",
            "integration/TestDatabase",
            "integration/TestErrors",
            "integration/TestWriteConcernError",
            "integration/TestWriteErrors",
            "integration/TestUnifiedSpecs/read-write-concern",
            "unified/TestUnifiedSpec/(command-monitoring|run-command)",
        ),
    ),
    Suite(
        "load balancers",
        ("integration/TestLoadBalancer", "unified/TestUnifiedSpec/load-balancers"),
    ),
    Suite(
        "server discovery",
        (
            "integration/TestSDAM",
            "integration/TestServer",
            "integration/TestConnectionsSurvivePrimaryStepDown",
            "integration/TestUnifiedSpecs/server-discovery",
            "unified/TestUnifiedSpec/server-(discovery|selection)",
        ),
        3,
    ),
    Suite("connection pools", ("unified/TestUnifiedSpec/connection-monitoring",)),
)
