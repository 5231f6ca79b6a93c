"""Options for records that a job cannot use."""

from typing import Annotated, Literal

from pydantic import model_validator

from sidecar.properties.model import Properties, prop
from sidecar.properties.types import LowerCase
from spark_jobs.options.types import SEPARATE_FOLDERS, Location, overlap


class InvalidRecordOptions(Properties):
    """Failure of the job, or a Delta table of these records."""

    invalid_records: Annotated[Literal["fail", "dead-letter"], LowerCase] = prop(
        "invalid.records",
        default="fail",
        doc="Handling of records that the job cannot read. `fail`: the job fails with "
        "their place before it writes any part of the micro-batch. `dead-letter`: the job writes "
        "them to `dead.letter.path`, with the reason, and continues.",
    )
    dead_letter_path: Location | None = prop(
        "dead.letter.path",
        default=None,
        doc="Folder or URI of the Delta table of invalid records.",
    )

    @model_validator(mode="after")
    def _dead_letters_are_complete(self) -> "InvalidRecordOptions":
        if (self.invalid_records == "dead-letter") != (self.dead_letter_path is not None):
            raise ValueError(
                "`dead.letter.path` must be set for `invalid.records=dead-letter`, and only then"
            )
        return self

    def require_separate_dead_letters(self, **paths: str | None) -> None:
        """Raise ValueError if the table overlaps a folder, by the name of its option with `_`."""
        for name, path in paths.items():
            if path and self.dead_letter_path and overlap(self.dead_letter_path, path):
                option = name.replace("_", ".")
                raise ValueError(f"`dead.letter.path` and `{option}` overlap. {SEPARATE_FOLDERS}")
