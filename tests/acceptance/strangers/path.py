"""What both paths have: the place of a round, its steps, its differences, and the verdict."""

import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path as Folder

from tests.acceptance.strangers.said import Said
from tests.acceptance.strangers.servers import LARGEST_MESSAGE_BYTES, Servers
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.processes import wait_until
from tests.support.strangers.chance import Chance

REFUSED = 2
"""Exit code of an agent whose configuration the names forbid."""

_MOMENT_S = 4
_QUIET_S = 30
"""Without progress for so long, an agent is done with what it can do."""
_DEADLINE_S = 180
_TICK_S = 0.2
_SHOWN, _LETTERS, _TEXT_LETTERS = 3, 100, 400
Step = tuple[Callable[[], str], float]


@dataclass(frozen=True, slots=True)
class Difference:
    """A sentence of the product with one of the names explains it."""

    target: str
    names: tuple[str, ...]
    text: str


@dataclass
class Round:
    """The servers serve all rounds."""

    number: int
    chance: Chance
    directory: Folder
    servers: Servers
    steps: list[str] = field(default_factory=list)
    said: Said = field(default_factory=Said)
    compared: int = 0
    _begun_s: float = field(default_factory=time.monotonic)

    def job(self, name: str, run: Callable[[], object]) -> str:
        """Run it; what its command line would print counts."""
        logger = logging.getLogger("spark_jobs")
        logger.setLevel(logging.DEBUG)  # at which a follower logs the error of a table itself
        logger.addHandler(self.said)
        try:
            return f"{name}: {run()}"
        except Exception as error:
            return f"{name}: {str(self.said.add_error(error))[:_TEXT_LETTERS]}"
        finally:
            logger.removeHandler(self.said)

    def step(self, text: str) -> None:
        self.steps.append(f"{time.monotonic() - self._begun_s:.0f} s: {text}")


class Path(ExitStack):
    """`with SomePath(round) as path: path.play()`; the differences follow."""

    agent: AgentProcess

    def __init__(self, of: Round) -> None:
        super().__init__()
        self.round = of
        self.chance = of.chance
        self.broker = of.servers.broker
        self.prefix = f"r{of.number}"

    @abstractmethod
    def start(self) -> None:
        """Start the source, and make the agent."""

    @abstractmethod
    def write(self, most: int) -> str:
        """Up to so many random changes."""

    @abstractmethod
    def jobs(self) -> Mapping[str, Callable[[], object]]:
        """Those over the topics, by name."""

    @abstractmethod
    def settle(self) -> bool:
        """Whether the agent has delivered everything; False after a while without progress."""

    @abstractmethod
    def compare(self) -> list[Difference]:
        """Of all targets."""

    def run_jobs(self) -> str:
        jobs = self.jobs() if self.topics() else {}
        return ", ".join(self.round.job(name, job) for name, job in jobs.items())

    def settings(self) -> dict[str, object]:
        """Those of either agent."""
        return {
            "kafka.producer.bootstrap.servers": self.broker.bootstrap,
            "kafka.producer.max.request.size": LARGEST_MESSAGE_BYTES,
            "topic.creation.enable": "true",
            "topic.creation.default.partitions": self.chance.size(1, 4),
            "topic.creation.default.replication.factor": 1,
            "topic.creation.default.max.message.bytes": LARGEST_MESSAGE_BYTES,
        }

    @property
    def job_settings(self) -> dict[str, str]:
        """Those of any job over topics."""
        return {
            "kafka.bootstrap.servers": self.broker.bootstrap,
            "topics.pattern": f"{self.prefix}[.].*",
            "state.partitions": "2",
        }

    def create_topic(self, name: str) -> None:
        config = {"max.message.bytes": str(LARGEST_MESSAGE_BYTES)}
        self.broker.create_topic(name, self.chance.size(1, 4), config)

    def steps(self) -> list[Step]:
        """What may happen, by weight."""
        return [
            (lambda: self.write(200), 6),
            (self.kill_agent, 1),
            (self.restart_agent, 0.5),
            (self.run_jobs, 0.5),
            (self.restart_broker, 0.15),
        ]

    def play(self) -> list[Difference]:
        """Random steps, then all that the product says, and the comparison."""
        self.start()
        self.callback(self.agent.end)
        with self.round.said.following(self.agent):
            self.agent.launch()
            for _ in range(self.chance.size(3, 14)):
                step = self.chance.choices(*zip(*self.steps(), strict=True))[0]
                self.round.step(step())
                if self.chance.flag(0.6):
                    self._let_it_read(self.chance.random() * _MOMENT_S)
            is_drained = self.settle()
            self.round.step("settled" if is_drained else "not all has arrived")
            self.round.said.ask(self.agent)
        self.round.step(self.run_jobs())
        log = self.agent.configuration.with_name("agent.log")
        self.round.said.read_log(log.read_text(errors="replace").split("\n"))
        found = self.compare()
        if not self.agent.is_running:
            text = f"ended with {self.agent.exit_status}"
            found.append(Difference("the agent", ("the process",), text))
        elif not is_drained and not self.round.said.conditions:
            found.append(Difference("the agent", ("delivery",), "does not advance"))
        return found

    def kill_agent(self) -> str:
        self.agent.end()
        written = self.write(100)
        self.agent.launch()
        return f"kill the agent, {written}, start it"

    def restart_agent(self) -> str:
        """SIGTERM, once it can obey; one may have refused to start."""
        agent = self.agent
        wait_until(lambda: bool(agent.get("/ping")) or not agent.is_running, "an answer")
        try:
            if agent.is_running:
                agent.stop()
        except ServerFailedError:
            # It may refuse after its first answer.
            if agent.exit_status != REFUSED:
                raise
        return self.kill_agent().replace("kill", "stop")

    def restart_broker(self) -> str:
        self.broker.kill()
        written = self.write(50)
        self.broker.start()
        return f"kill the broker, {written}, start it"

    def topics(self) -> list[str]:
        return [each for each in self.broker.topics() if each.startswith(f"{self.prefix}.")]

    def waited(self, condition: Callable[[], bool]) -> bool:
        """Whether it comes true before the deadline, and while the topics grow."""
        begun_s = since_s = time.monotonic()
        last = None
        was_running = True
        while not (is_true := condition()) and time.monotonic() < begun_s + _DEADLINE_S:
            if (now := self.ends()) != last:
                last, since_s = now, time.monotonic()
            is_running = self.agent.is_running
            # The condition may start an agent again that it saw ended.
            if time.monotonic() > since_s + _QUIET_S or not (is_running or was_running):
                break
            was_running = is_running
            time.sleep(_TICK_S)
        return is_true

    def ends(self) -> dict[tuple[str, int], int]:
        """The ends of the topics, by partition."""
        topics = self.topics()
        return self.broker.end_offsets(*topics) if topics else {}

    def _let_it_read(self, most_s: float) -> None:
        """Until the agent has brought something, or for a moment: a fault may strike earlier."""
        end_s, before = time.monotonic() + most_s, self.agent.get("/metrics")
        self.waited(lambda: self.agent.get("/metrics") != before or time.monotonic() > end_s)


def verdict(differences: Iterable[Difference], said: Said) -> tuple[list[str], list[str]]:
    """A line for each unknown error, and for each target and object whose differences no sentence
    explains; and the sentences that explain others, each once."""
    found: dict[tuple[str, str], list[str]] = {}
    explained: dict[str, None] = {}
    for each in differences:
        if sentence := said.names(*each.names):
            explained[shown(sentence)] = None
        else:
            found.setdefault((each.target, each.names[0]), []).append(each.text[:_TEXT_LETTERS])
    findings = [
        f"{target}: {shown(name)} differs {len(texts)} times, and nothing says so: "
        + "; ".join(texts[:_SHOWN])
        for (target, name), texts in found.items()
    ]
    texts = dict.fromkeys(text[:_TEXT_LETTERS] for text in said.unknown)
    findings += [f"an error without a message of the product: {each!a}" for each in texts]
    return findings, list(explained)


def shown(name: str) -> str:
    """A name on a terminal."""
    text = ascii(name)
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}… ({len(name)} letters)"


def compared(
    target: str,
    source: Mapping[tuple[str, str], bytes],
    actual: Mapping[tuple[str, str], bytes],
    names: Mapping[str, tuple[str, ...]],
) -> list[Difference]:
    """By (object, key): what the source has, and what the target has."""
    found = []
    for name, row in sorted(source.keys() | actual.keys()):
        expected, there = source.get((name, row)), actual.get((name, row))
        if expected != there:
            text = f"{row} is left" if expected is None else f"{row} is missing"
            if expected is not None and there is not None:
                text = f"{row} differs: {_apart(expected, there)}"
            found.append(Difference(target, names.get(name, (name,)), text))
    return found


def _apart(one: bytes, other: bytes) -> str:
    """The places from which on two texts differ."""
    at = next((n for n, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1), 0)
    start = max(at - 20, 0)
    return f"{one[start : at + 60]!r} became {other[start : at + 60]!r}"
