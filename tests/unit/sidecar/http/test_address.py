"""Hosts that HTTP cannot be served on."""

from sidecar.http.address import address_problem


def test_a_host_with_a_part_that_is_too_long_is_rejected_with_its_property() -> None:
    problem = address_problem("é" * 300)
    assert problem is not None
    assert problem.startswith("http.host=é")
    assert "each part between dots has 1 to 63 characters. Set http.host to" in problem
