"""Messages with an OS error contain the remedy for this error."""

import errno
import os

import pytest

from sidecar.check.check import Check, fault, findings_of, ok
from sidecar.files.access import REMEDIES, remedy_of
from sidecar.health.condition import Condition, State
from sidecar.status.findings import MaskedCauses, with_findings

OTHERWISE = "Correct cdc.raw.directory, or let the agent's user read it."
NAMED = {
    errno.EMFILE: "LimitNOFILE",
    errno.ENFILE: "fs.file-max",
    errno.ENOMEM: "MemoryMax",
    errno.ENOSPC: "df -i",
    errno.EDQUOT: "quota",
    errno.EROFS: "mount it writable",
    errno.ESTALE: "mount it again",
}


@pytest.mark.parametrize("number", NAMED)
def test_conditions_and_findings_contain_remedy_of_os_error(number: int) -> None:
    message = f"/data/cdc_raw cannot be read: {os.strerror(number)}."
    own = Condition("cdc_raw_unreadable", State.FAILING, "cdc_raw", message, OTHERWISE)
    other = fault("directories", message, OTHERWISE, code="directories_unusable")
    check: Check[None] = Check("directories", lambda probe: [other])
    (found,) = findings_of(check, None)
    for remedy in (
        found.remedy,
        *(each.remedy for each in with_findings([own], [other], {}, {}, MaskedCauses())),
    ):
        assert remedy == REMEDIES[number]
        assert NAMED[number] in remedy


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.ENOENT])
def test_permission_and_path_errors_retain_remedy_of_source(number: int) -> None:
    assert remedy_of(f"it cannot be read: {os.strerror(number)}", OTHERWISE) == OTHERWISE


def test_full_disk_retains_remedy_that_frees_space() -> None:
    otherwise = "Free space in commit.log.relocation.dir."
    assert remedy_of(f"full: {os.strerror(errno.ENOSPC)}", otherwise) == otherwise


def test_ok_finding_has_no_remedy() -> None:
    text = f"last month: {os.strerror(errno.EMFILE)}"
    check: Check[None] = Check("x", lambda probe: [ok("x", text)])
    (found,) = findings_of(check, None)
    assert found.remedy == ""
