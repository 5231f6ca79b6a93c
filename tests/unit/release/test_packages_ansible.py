"""The role of `examples/ansible` installs the packages' unit for agents from a wheel."""

from pathlib import Path

from release.packages import SOURCES
from release.tree import CASSANDRA

ROLE = Path("examples") / "ansible" / "roles" / "cdc_sidecar"
# The packages create these directories; the role creates its own.
OF_PACKAGES = ("ExecStartPre=", "StateDirectory", "Documentation=", "# For a node that was")
PLACES = {
    "{{ cdc_sidecar_user }}": CASSANDRA.user,
    "{{ cdc_sidecar_home }}": str(CASSANDRA.home),
    "{{ cdc_sidecar_configuration }}": f"/etc/cdc-sidecar/{CASSANDRA.properties}",
    " {{ cdc_sidecar_state }}": "",
}


def test_ansible_unit_equals_package_unit() -> None:
    name = f"{CASSANDRA.package}.service"
    unit = (SOURCES / CASSANDRA.name / name).read_text().splitlines()
    expected = [line for line in unit if not line.startswith(OF_PACKAGES)]
    text = (ROLE / "templates" / f"{name}.j2").read_text()
    for variable, value in PLACES.items():
        assert variable in text
        text = text.replace(variable, value)
    # The first two lines describe the file itself.
    assert text.splitlines()[2:] == expected
