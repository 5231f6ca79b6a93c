"""The oplog as one member has it."""

from collections.abc import Iterator
from dataclasses import dataclass

from bson import Timestamp

from tests.support.mongodb.server.histories import History
from tests.support.mongodb.server.members import Member
from tests.support.mongodb.server.oplog import Entry


@dataclass
class MemberHistory:
    """That of the whole set, or up to where the member stopped to follow (`Member.stands_at`)."""

    whole: History
    member: Member

    @property
    def oldest_number(self) -> int:
        return self.whole.oldest_number

    @property
    def oldest_time(self) -> Timestamp:
        return self.whole.oldest_time

    @property
    def time(self) -> Timestamp:
        return self._at_most(self.whole.time)

    @property
    def majority_end(self) -> int:
        end = self.whole.majority_end
        at = self.member.stands_at
        return end if at is None else min(end, self.whole.number_at(_behind(at)))

    @property
    def majority_time(self) -> Timestamp:
        return self._at_most(self.whole.majority_time)

    def entry(self, number: int) -> Entry:
        return self.whole.entry(number)

    def number_at(self, time: Timestamp) -> int:
        return self.whole.number_at(time)

    def is_on_majority(self, time: Timestamp) -> bool:
        return self.whole.is_on_majority(time)

    def entries(self) -> Iterator[Entry]:
        return (entry for entry in self.whole.entries() if entry.time <= self.time)

    def _at_most(self, time: Timestamp) -> Timestamp:
        return time if self.member.stands_at is None else min(time, self.member.stands_at)


def _behind(time: Timestamp) -> Timestamp:
    return Timestamp(time.time, time.inc + 1)
