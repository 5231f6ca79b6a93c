"""What an operator does with Kafka's own programs, which Kafka publishes in its archive alone."""

import argparse
import shlex

from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType

from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.kafka_acl import acl_bindings, grant


def run_program(broker: KafkaBroker, command: str) -> None:
    """Does what the command does, except that it asks this broker. Unknown options end the test."""
    program, *arguments = shlex.split(command)
    parser = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--topic", required=True)
    match program:
        case "kafka-acls.sh":
            grant(broker, list(acl_bindings(command)))
        case "kafka-topics.sh":
            parser.add_argument("--create", action="store_true", required=True)
            broker.create_topic(parser.parse_args(arguments).topic)
        case "kafka-configs.sh":
            parser.add_argument("--alter", action="store_true", required=True)
            parser.add_argument("--add-config", required=True)
            given = parser.parse_args(arguments)
            name, _, value = given.add_config.partition("=")
            entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            resource = ConfigResource(ResourceType.TOPIC, given.topic, incremental_configs=[entry])
            for future in broker.admin().incremental_alter_configs([resource]).values():
                future.result()
        case _:
            raise AssertionError(command)
