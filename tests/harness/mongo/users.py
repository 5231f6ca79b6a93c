"""Users and what built-in roles let them do."""

from dataclasses import dataclass

_OF_A_DATABASE = {"read": {"read"}, "readWrite": {"read", "write"}}
_OF_ALL = {
    "readAnyDatabase": {"read"},
    "readWriteAnyDatabase": {"read", "write"},
    "clusterMonitor": {"monitor"},
    "root": {"read", "write", "monitor", "admin"},
}


@dataclass(frozen=True)
class User:
    """A user of the `admin` database. `roles` are pairs of role and database."""

    name: str
    password: str
    roles: tuple[tuple[str, str], ...] = (("root", "admin"),)

    def may(self, action: str, database: str | None) -> bool:
        """`database` None means every database."""
        return any(
            action in _OF_ALL.get(role, ())
            or (action in _OF_A_DATABASE.get(role, ()) and place == database)
            for role, place in self.roles
        )
