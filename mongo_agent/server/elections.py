"""Counts changes of the primary, as the driver sees them."""

import logging

from pymongo import monitoring

from sidecar.logs import fields

logger = logging.getLogger(__name__)

_PRIMARY = "RSPrimary"


class ElectionCounter(monitoring.TopologyListener):
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
                logger.info(
                    "another member is primary",
                    extra=fields(
                        primary=_text(address), before=_text(self._primary), elections=self.count
                    ),
                )
            self._primary = address

    def closed(self, event: monitoring.TopologyClosedEvent) -> None:
        """The driver looks no more."""


def _text(address: tuple[str, int | None]) -> str:
    host, port = address
    return host if port is None else f"{host}:{port}"
