from sidecar.config.claim_check import HEADROOM_BYTES, ClaimCheckProperties
from sidecar.properties.loading import load
from sidecar.properties.source import command_line_settings

ON = "event.oversized=claim-check"
STORE = "claim.check.store=file:///claims"


def properties(*settings: str) -> ClaimCheckProperties:
    overrides = command_line_settings(settings)
    return load(ClaimCheckProperties, [], overrides=overrides, environment={}).properties


def test_threshold_leaves_room_for_headers() -> None:
    assert properties().claim_threshold_bytes(1_000_000) == 1_000_000 - HEADROOM_BYTES
    assert properties().claim_threshold_bytes(10_000) == 5000
    given = properties(ON, STORE, "claim.check.threshold.bytes=64Ki")
    assert given.claim_threshold_bytes(1_000_000) == 65536


def test_store_and_json_values_are_required() -> None:
    assert properties(ON, STORE).claim_check_problems("json") == []
    assert properties().claim_check_problems("avro") == []
    (problem,) = properties(ON).claim_check_problems("json")
    assert problem.startswith("`claim.check.store` must be set")
    for encoding in ("avro", "protobuf", "string", "json_with_schema"):
        (problem,) = properties(ON, STORE).claim_check_problems(encoding)
        assert f"`value.converter` writes {encoding}." in problem


def test_settings_without_effect_give_warnings() -> None:
    assert properties(ON, STORE).claim_check_warnings(1_000_000) == []
    unused = properties(STORE, "claim.check.threshold.bytes=1").claim_check_warnings(1_000_000)
    assert [each.split("`")[1] for each in unused] == [
        "claim.check.store",
        "claim.check.threshold.bytes",
    ]
    (warning,) = properties(ON, STORE, "claim.check.threshold.bytes=2000").claim_check_warnings(
        1000
    )
    assert "become dead letters" in warning
