"""The servers of a campaign: a broker and a session for all rounds, a node once it is needed."""

from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Self

from pyspark.sql import SparkSession

from tests.acceptance.strangers.secured_node import SecuredNode
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.reserved_words import reserved_words
from tests.support.spark.session import fetched_jars, local_session, quiet_java_options

LARGEST_MESSAGE_BYTES = 64 << 20
_MEMORY = "3g"


class Servers:
    """`with Servers(directory) as servers:` starts the broker; all end with the block."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._stack = ExitStack()
        largest = str(LARGEST_MESSAGE_BYTES)
        properties = {
            "message.max.bytes": largest,
            "replica.fetch.max.bytes": largest,
            "socket.request.max.bytes": str(2 * LARGEST_MESSAGE_BYTES),
        }
        self.broker = KafkaBroker(directory / "kafka", properties=properties, heap_mib=768)

    def __enter__(self) -> Self:
        self._stack.enter_context(self.broker)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.__exit__(None, None, None)

    @cached_property
    def spark(self) -> SparkSession:
        options = quiet_java_options(self._directory)
        session = local_session(fetched_jars(), options, self._directory / "lake", _MEMORY)
        self._stack.callback(session.stop)
        return session

    @cached_property
    def node(self) -> SecuredNode:
        return self._stack.enter_context(SecuredNode(self._directory / "node"))

    @cached_property
    def reserved(self) -> list[str]:
        """Names of columns that the formats have for themselves."""
        return reserved_words(self.spark)
