"""What people ask a running agent for, whichever way it comes."""

from mongo_agent.signals.signal import InvalidSignalError, Signal, SignalResult

__all__ = ["InvalidSignalError", "Signal", "SignalResult"]
