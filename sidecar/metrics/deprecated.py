"""Metrics and labels under the names that they had before 0.2.0, for one release."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from prometheus_client import Metric
from prometheus_client.registry import Collector, CollectorRegistry
from prometheus_client.samples import Sample

RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "cdc_held": "cdc_blocked",
        "cdc_held_seconds": "cdc_blocked_seconds",
        "cdc_watching": "cdc_inotify_active",
        "cdc_raw_full_seconds": "cdc_raw_time_to_full_seconds",
        "cdc_copy_running": "cdc_snapshot_running",
        "cdc_copy_paused": "cdc_snapshot_paused",
        "cdc_copy_remaining_collections": "cdc_snapshot_remaining_collections",
        "cdc_snapshot_counter_tables": "cdc_snapshot_unsupported_tables",
        "cdc_elections": "cdc_elections_total",
        "cdc_stream_reopenings": "cdc_stream_reopenings_total",
    }
)
"""New names by old ones. All old ones are gauges."""

RENAMED_LABELS: Mapping[str, str] = MappingProxyType({"lane": "stream", "way": "disposition"})
"""New names by old ones."""


class DeprecatedNames(CollectorRegistry):
    """A registry that adds old names to what another one collects."""

    def __init__(self, registry: Collector) -> None:
        super().__init__()
        self._collected = registry

    def collect(self) -> Iterator[Metric]:
        old_names = {new: old for old, new in RENAMED.items()}
        for family in self._collected.collect():
            family.samples = [_with_old_labels(sample) for sample in family.samples]
            yield family
            for sample_name in {sample.name for sample in family.samples} & old_names.keys():
                old = Metric(old_names[sample_name], f"Deprecated: use {sample_name}.", "gauge")
                old.samples = [
                    sample._replace(name=old.name)
                    for sample in family.samples
                    if sample.name == sample_name
                ]
                yield old


def _with_old_labels(sample: Sample) -> Sample:
    old = {old: sample.labels[new] for old, new in RENAMED_LABELS.items() if new in sample.labels}
    return sample._replace(labels={**sample.labels, **old}) if old else sample
