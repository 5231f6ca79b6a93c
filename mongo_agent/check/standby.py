"""The check of the consumer group that elects the leader."""

from collections.abc import Iterator

from mongo_agent.check.probe import ANSWER_S, MongoProbe
from mongo_agent.offsets.kafka_store import election_settings
from sidecar.check.finding import Finding, fault, ok
from sidecar.errors import AccessDeniedError
from sidecar.sinks.kafka.leader_election.rights import group_problem


def check_standby(probe: MongoProbe) -> Iterator[Finding]:
    """Whether the agent can join the group. No finding while a server does not answer: the name of
    the group may depend on the deployment."""
    deployment = probe.deployment
    settings = None if deployment is None else election_settings(probe.config, deployment)
    if settings is None or probe.broker().error is not None:
        return
    problem = group_problem(settings.client, settings.group, settings.session_timeout_ms, ANSWER_S)
    match problem:
        case None:
            message = f"The agent may join the consumer group {settings.group}."
            yield ok("group", message, code="group_usable")
        case AccessDeniedError():
            remedy = "Grant Read on the group. Until then the agent does not deliver."
            yield fault("group", str(problem), remedy, code="group_access_denied")
        case _:
            remedy = "Until then the agent ends with exit code 2."
            yield fault("group", str(problem), remedy, code="group_settings_invalid")
