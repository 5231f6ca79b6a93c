"""Counts changes of the primary, as the driver sees them."""

from pymongo import monitoring

_PRIMARY = "RSPrimary"


class Elections(monitoring.TopologyListener):
    """`count` grows whenever another member is seen to be the primary. Any thread may ask."""

    def __init__(self) -> None:
        self.count = 0
        self._primary: tuple[str, int | None] | None = None

    def opened(self, event: monitoring.TopologyOpenedEvent) -> None:
        """The driver begins to look; nothing is known."""

    def description_changed(self, event: monitoring.TopologyDescriptionChangedEvent) -> None:
        servers = event.new_description.server_descriptions()
        for address, server in servers.items():
            if server.server_type_name != _PRIMARY or address == self._primary:
                continue
            if self._primary is not None:
                self.count += 1
            self._primary = address

    def closed(self, event: monitoring.TopologyClosedEvent) -> None:
        """The driver looks no more."""
