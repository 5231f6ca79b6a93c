"""The status of an agent, from its facts to the log.

The agents derive conditions from facts (`agent.status`, `mongo_agent.status`). `/health`, the page,
the metrics and the log all report the resulting `Health`.
"""
