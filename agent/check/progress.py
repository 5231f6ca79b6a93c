"""The stored progress."""

from collections.abc import Iterator

from agent.config import OFFSET_FILE, AgentConfig
from agent.segments.ledger import NODE_ID_KEY
from sidecar.check.finding import Finding, fault, ok, warning
from sidecar.errors import OffsetStoreError
from sidecar.offsets import PropertiesStore


def check_progress(config: AgentConfig, node_id: str | None) -> Iterator[Finding]:
    """`node_id` is who the node is, where that is known."""
    directory = config.properties.offset_directory
    if not directory.is_dir():
        return
    try:
        stored = PropertiesStore(directory, OFFSET_FILE).load()
    except OffsetStoreError as error:
        yield fault("offsets", str(error), "The agent ends with exit code 1.")
        return
    if stored.recovered_from_previous is not None:
        yield warning("offsets", stored.recovered_from_previous, "Look for a full or failing disk.")
    owner = stored.values.get(NODE_ID_KEY)
    if owner is None:
        yield ok("offsets", "No progress is stored; the agent starts at the oldest segment.")
    elif node_id is not None and owner != node_id:
        yield fault(
            "offsets",
            f"The stored progress belongs to the node {owner}, and this is {node_id}.",
            "If the node was replaced, stop the agent and run `agent offsets reset --copies`. If "
            "both nodes exist, set another offset.backing.store.dir for this one.",
        )
    else:
        yield ok("offsets", f"Progress of {len(stored.values) - 1} segments is stored.")
