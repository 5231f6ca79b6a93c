"""Checks that both agents share: findings, lists of checks, how they run, and common checks."""
