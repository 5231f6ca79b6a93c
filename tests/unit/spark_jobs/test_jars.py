"""The folder of jars."""

from pathlib import Path

import pytest

from spark_jobs.dependency_versions import TESTED
from spark_jobs.errors import SetupError
from spark_jobs.jars import jars_in


def test_a_missing_jar_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    for artifact in TESTED.artifacts()[1:]:
        (tmp_path / artifact.file_name).touch()
    with pytest.raises(SetupError) as raised:
        jars_in(tmp_path)
    assert TESTED.artifacts()[0].file_name in str(raised.value)
    assert f"python -m spark_jobs.jars {tmp_path}" in str(raised.value)
