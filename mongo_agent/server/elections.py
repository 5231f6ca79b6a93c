"""Count of primary elections, observed through the driver's topology events."""

import logging

from pymongo import monitoring

from sidecar.logs import fields

logger = logging.getLogger(__name__)

_PRIMARY = "RSPrimary"


class ElectionCounter(monitoring.TopologyListener):
    """`count` increases each time another member becomes primary. Any thread may read it."""

    def __init__(self) -> None:
        self.count = 0
        self._primary: tuple[str, int | None] | None = None

    def opened(self, event: monitoring.TopologyOpenedEvent) -> None:
        """Required by the listener interface."""

    def description_changed(self, event: monitoring.TopologyDescriptionChangedEvent) -> None:
        servers = event.new_description.server_descriptions()
        for address, server in servers.items():
            if server.server_type_name != _PRIMARY or address == self._primary:
                continue
            if self._primary is not None:
                self.count += 1
                logger.info(
                    "another member became primary",
                    extra=fields(
                        primary=_text(address), before=_text(self._primary), elections=self.count
                    ),
                )
            self._primary = address

    def closed(self, event: monitoring.TopologyClosedEvent) -> None:
        """Required by the listener interface."""


def _text(address: tuple[str, int | None]) -> str:
    host, port = address
    return host if port is None else f"{host}:{port}"
