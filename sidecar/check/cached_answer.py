"""Answers of servers that several checks share."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

AnswerT_co = TypeVar("AnswerT_co", covariant=True)


class CachedAnswer(Generic[AnswerT_co]):
    """Calls a function once, on the thread of the first caller, and caches its result or exception.
    Other threads wait for it."""

    def __init__(self, ask: Callable[[], AnswerT_co]) -> None:
        self._ask = ask
        self._lock = threading.Lock()
        self._answers: list[AnswerT_co] = []
        self._errors: list[Exception] = []

    def __call__(self) -> AnswerT_co:
        with self._lock:
            if not self._answers and not self._errors:
                try:
                    self._answers.append(self._ask())
                except Exception as error:
                    self._errors.append(error)
            if self._errors:
                raise self._errors[0]
            return self._answers[0]
