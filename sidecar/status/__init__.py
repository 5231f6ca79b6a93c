"""The status of an agent, from its facts to the log.

Facts become conditions in the agents (`agent.status`, `mongo_agent.status`). `/health`, the page,
the metrics and the log all report the `Health` that follows from them.
"""
