"""Signals to a running agent, by any channel."""

from mongo_agent.signals.signal import InvalidSignalError, Signal, SignalResult

__all__ = ["InvalidSignalError", "Signal", "SignalResult"]
