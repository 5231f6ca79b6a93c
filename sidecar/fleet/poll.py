"""Queries all agents concurrently, each with a deadline."""

import queue
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sidecar.bounded_json import bounded_json
from sidecar.fleet.report import AgentReport, report_of, unreachable
from sidecar.fleet.request import MAX_ANSWER_BYTES, Access, Answer, get
from sidecar.fleet.target import Target

THREADS = 32
"""Maximum number of concurrent queries."""
_GRACE_S = 1.0


def poll(
    targets: Sequence[Target], timeout_s: float, access: Access | None = None
) -> list[AgentReport]:
    """Return one report per target, in order. `timeout_s` limits each query, from the connection
    to the last byte. An agent that does not answer is reported as unreachable, not as an error."""
    late = f"no answer within {timeout_s:g} s"
    reports = [unreachable(target, late) for target in targets]
    waiting: queue.SimpleQueue[tuple[int, Target]] = queue.SimpleQueue()
    for item in enumerate(targets):
        waiting.put(item)

    def work() -> None:
        with suppress(queue.Empty):
            while True:
                number, target = waiting.get_nowait()
                reports[number] = ask(target, timeout_s, access)

    # Daemon threads, because an unresponsive name server may block them without a deadline.
    threads = [
        threading.Thread(target=work, name=f"fleet-{number}", daemon=True)
        for number in range(min(THREADS, len(targets)))
    ]
    for thread in threads:
        thread.start()
    rounds = -(-len(targets) // THREADS)
    end_s = time.monotonic() + rounds * (timeout_s + _GRACE_S)
    for thread in threads:
        thread.join(max(0.0, end_s - time.monotonic()))
    return reports.copy()


def ask(target: Target, timeout_s: float, access: Access | None = None) -> AgentReport:
    """Query one agent. Never raises."""
    if not target.url:
        return unreachable(target, target.problem)
    deadline_s = time.monotonic() + timeout_s
    try:
        health = get(f"{target.url}/health", deadline_s, access)
        document = _document(health)
        if document is None:
            return unreachable(target, _rejection(health))
        return report_of(target, document, is_ok=health.status == 200)
    except TimeoutError:
        return unreachable(target, f"no answer within {timeout_s:g} s")
    except OSError as error:
        return unreachable(target, error.strerror or str(error))
    except Exception as error:
        return unreachable(target, f"{type(error).__name__}: {error}")


def _document(answer: Answer) -> dict[str, Any] | None:
    """Parse an agent's JSON object; None for any other answer."""
    if answer.status not in (200, 503):
        return None
    try:
        found = bounded_json(answer.body, MAX_ANSWER_BYTES)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _rejection(answer: Answer) -> str:
    match answer.status:
        case 401 | 403:
            return f"HTTP {answer.status}: the server denies access; pass a token with --token-file"
        case 200 | 503:
            return "the server is not an agent: /health is not JSON"
        case _:
            first = answer.body[:200].decode("utf-8", "replace").strip().partition("\n")[0]
            return f"HTTP {answer.status} {first}".strip()
