"""The status of many agents: targets, requests, one report for each agent, their summary."""
