"""The files of pymongo's tests that run here, by subject, and the releases of the server."""

from dataclasses import dataclass

RELEASES = ("5.0.31", "6.0.20", "8.0.4")


@dataclass(frozen=True)
class Suite:
    """`files` are modules of pymongo's package `test`, `members` those of the replica set."""

    name: str
    files: tuple[str, ...]
    members: int = 1


SUITES = (
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
