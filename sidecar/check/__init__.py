"""Checks that both agents share: findings, check lists, runners, and common checks."""
