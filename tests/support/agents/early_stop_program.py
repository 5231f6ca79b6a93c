"""A program that is stopped before its agent has started."""

# Sends the signals when a certain module is asked for, so always at the same place.
PROGRAM = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Interrupting(MetaPathFinder):
    def __init__(self, module, signals):
        self.module, self.signals = module, signals

    def find_spec(self, name, path, target=None):
        while name == self.module and self.signals:
            self.signals -= 1
            os.kill(os.getpid(), signal.SIGTERM)
        return None

from agent import start
sys.meta_path.insert(0, Interrupting(sys.argv.pop(1), int(sys.argv.pop(1))))
start.main()
"""
