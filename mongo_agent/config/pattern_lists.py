"""The include and exclude lists of a configuration."""

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.config.model import MongoProperties


def pattern_lists(properties: MongoProperties) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (
        ("database.include.list", properties.database_include_list),
        ("database.exclude.list", properties.database_exclude_list),
        ("collection.include.list", properties.collection_include_list),
        ("collection.exclude.list", properties.collection_exclude_list),
        ("snapshot.include.collection.list", properties.snapshot_include_list),
    )


def namespaces(properties: MongoProperties) -> Namespaces:
    """The captured databases and collections. Raises ValueError for invalid lists."""
    return Namespaces(
        include_databases=properties.database_include_list,
        exclude_databases=properties.database_exclude_list,
        include_collections=properties.collection_include_list,
        exclude_collections=properties.collection_exclude_list,
        mode=properties.filters_match_mode,
    )


def captured_namespaces(properties: MongoProperties) -> Namespaces | None:
    """The captured databases and collections; None for invalid lists."""
    try:
        return namespaces(properties)
    except ValueError:
        return None
