"""What people ask a running agent for, whichever way it comes."""

from mongo_agent.signals.signal import Answer, InvalidSignalError, Signal

__all__ = ["Answer", "InvalidSignalError", "Signal"]
