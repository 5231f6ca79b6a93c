"""Validation of `mongodb.hosts` and `mongodb.connection.string`, without a connection.

The driver's messages address programmers and may reveal parts of a password. The agent replaces
the messages about mistakes that operators make.
"""

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from urllib.parse import parse_qsl, urlencode

from pymongo.errors import ConfigurationError
from pymongo.uri_parser import parse_uri, validate_options

from sidecar.properties.types import MASK

HOSTS, STRING = "`mongodb.hosts`", "`mongodb.connection.string`"
SRV = "mongodb+srv://"
_PLAIN = "mongodb://"
_SRV_OPTIONS = ("srvservicename", "srvmaxhosts", "srvallowedhostssuffix")
_OF_HOSTS = {"replicaset", "directconnection", "loadbalanced", *_SRV_OPTIONS}
REJECTIONS = (ConfigurationError, ValueError, TypeError, KeyError, OSError)
"""What the driver raises for invalid options; `InvalidURI` is a `ConfigurationError`."""
_SECRET_OPTIONS = ("authmechanismproperties", "tlscertificatekeyfilepassword")
_LARGEST_PORT = 65535
_SET_NAME = re.compile(r"[^\s/,;:?@\[\]]+")
_HOST = re.compile(r"[\w.-]+|\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]")
_FORM = "it must be `host:port,host:port` or `rs0/host:port,…`"
_ESCAPED = (
    "characters of the user or password must be escaped: write `@` as `%40`, `/` as `%2F`, `:` as "
    "`%3A` and `%` as `%25`, or use `mongodb.user` and `mongodb.password`"
)


def split_hosts_value(text: str) -> tuple[str, str]:
    """Split into the replica set name, which may be empty, and the addresses."""
    name, slash, members = text.strip().partition("/")
    return (name, members) if slash else ("", name)


def hosts_problem(text: str) -> str | None:
    """Return the error in an invalid `mongodb.hosts`, or None."""
    if "://" in text:
        scheme = text.strip().partition("://")[0]
        remedy = f"Use {STRING}" if scheme.startswith("mongodb") else "Remove the scheme"
        return f"{HOSTS} contains `{scheme}://`; {_FORM}. {remedy}."
    if "?" in text:
        return f"{HOSTS} contains options (`?`); {_FORM}. Set options in {STRING}."
    if ";" in text or text.count("/") > 1:
        return (
            f"{HOSTS} lists several replica sets. List one, or the mongos of the sharded cluster."
        )
    name, members = split_hosts_value(text)
    if "/" in text and not _SET_NAME.fullmatch(name):
        hint = " The name of the replica set is its first part." if ":" in name else ""
        return f"{HOSTS} has the invalid replica set name `{name}`; {_FORM}.{hint}"
    for part in members.split(","):
        reason = _address_problem(part.strip())
        if reason is not None:
            return f"{HOSTS} {reason}; {_FORM}."
    return None


def _address_problem(part: str) -> str | None:
    if not part:
        return "has an empty part"
    if "@" in part:
        return "contains a login (`@`), which belongs in `mongodb.user` and `mongodb.password`"
    host, colon, port = part.rpartition(":")
    if not colon or part.endswith("]"):
        host, port = part, "27017"
    if ":" in host and re.fullmatch(r"[0-9A-Fa-f:.]+", host):
        return f"has `{part}`; write IPv6 addresses in brackets, `[{host}]:{port}`"
    if re.search(r"[:;]", host.strip("[]")) and not host.startswith("["):
        return f"has `{part}`; commas separate addresses"
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= _LARGEST_PORT):
        hint = "; a comment needs its own line" if "#" in part else ""
        return f"has the invalid port `{port}`; ports are 1 to {_LARGEST_PORT}{hint}"
    if not _HOST.fullmatch(host):
        return f"has `{host}`, which is not a host name"
    return None


def string_problem(text: str, *, has_login: bool = False) -> str | None:
    """Return the error in an invalid connection string, without parts of its login, or None.

    Does not query DNS for `mongodb+srv://`. With `has_login`, properties replace the user and
    password.
    """
    reason = _string_reason(text.strip(), has_login)
    return None if reason is None else f"{STRING} is invalid: {reason}."


def string_warnings(text: str) -> Iterator[str]:
    """Yield a warning for each option that the driver ignores."""
    _, of_string = _parse_leniently(text)
    _, of_options = _validate_each(text)
    ignored = [
        reason
        for reason in of_string
        if not any(longer.startswith(reason) for longer in of_options)
    ]
    for reason in dict.fromkeys(of_options + ignored):
        yield f"{STRING} has an option that the driver ignores: {reason.rstrip('.')}."


def string_options(text: str) -> dict[str, object]:
    """Parse the options of a connection string, by driver name; empty if it is invalid."""
    options, _ = _parse_leniently(text)
    return options


def _parse_leniently(text: str) -> tuple[dict[str, object], list[str]]:
    """Like `_parse`, but empty for an invalid connection string."""
    try:
        return _parse(text.strip())
    except REJECTIONS:
        return {}, []


def of_set(uri: str, members: Sequence[str]) -> str:
    """Replace the hosts of a connection string with the members of a replica set.

    Removes options about the original hosts; `mongodb+srv://` implies TLS.
    """
    has_tls = {"tls", "ssl"} & {name.lower() for name, _ in _pairs(uri)}
    implied = [("tls", "true")] if uri.startswith(SRV) and not has_tls else []
    return _rebuild(uri, ",".join(members), _OF_HOSTS, implied)


def _rebuild(
    uri: str, hosts: str, dropped: Collection[str], added: Iterable[tuple[str, str]] = ()
) -> str:
    """Build a `mongodb://` string with these hosts, and with some options dropped and added."""
    authority = _authority(uri)
    login, at, _ = authority.rpartition("@")
    path = uri.partition("://")[2].removeprefix(authority).partition("?")[0]
    options = [(name, value) for name, value in _pairs(uri) if name.lower() not in dropped]
    return f"{_PLAIN}{login}{at}{hosts}{path or '/'}?{urlencode([*options, *added])}"


def _string_reason(uri: str, has_login: bool) -> str | None:
    if not uri.startswith((_PLAIN, SRV)):
        return "it must start with `mongodb://` or `mongodb+srv://`"
    if re.search(r"\s", uri.rpartition("@")[2]):
        return "it contains a space; a comment needs its own line"
    reason = _login_reason(uri, has_login) or _hosts_reason(uri) or _options_reason(uri)
    if reason is not None:
        return reason
    invalid, _ = _validate_each(uri)
    if invalid is not None:
        return invalid
    try:
        _parse(uri)
    except REJECTIONS as error:
        return _driver_reason(error, uri)
    return None


def _driver_reason(error: Exception, uri: str) -> str:
    if isinstance(error, OSError):
        return f"it refers to the file {error.filename}, which cannot be read: {error.strerror}"
    if isinstance(error, KeyError):
        return "the driver has no such value"
    text = str(error).splitlines()[0].rstrip(".?")
    if "quote_plus" in text:
        return _ESCAPED
    text = text.removesuffix("? Refer to docstring")
    return _without_secrets(text, uri)


def _login_reason(uri: str, has_login: bool) -> str | None:
    """Return the error in an invalid login, without parts of the login, or None."""
    authority = _authority(uri)
    login, at, _ = authority.rpartition("@")
    rest = uri.partition("://")[2].removeprefix(authority)
    # After a `/` or `?`, the rest of a password looks like a path or options.
    if "@" in (rest.partition("?")[0] if at else rest):
        return _ESCAPED
    if not at:
        return None
    user, _, password = login.partition(":")
    if "@" in login or ":" in password:
        return _ESCAPED
    if not user:
        return "it has a password without a user"
    if not (password or has_login or "authmechanism" in uri.lower()):
        return "it has a user without a password; add it, or set `mongodb.user` and its password"
    return None


def _hosts_reason(uri: str) -> str | None:
    parts = hosts_of(uri).split(",")
    if not any(parts):
        return "it must have at least one hostname"
    if uri.startswith(SRV):
        host = parts[0]
        if len(parts) > 1:
            return "with `mongodb+srv://` it must have one host name; DNS returns the members"
        if ":" in host:
            return "with `mongodb+srv://` it must have no port; DNS supplies it"
        if re.fullmatch(r"[\d.]+", host):
            return f"with `mongodb+srv://` it must have a host name, but `{host}` is an address"
        return None
    if any(part.startswith("%2F") for part in parts):
        return "it contains a Unix socket; use `host:port`"
    reasons = (_address_problem(part) for part in parts)
    reason = next(filter(None, reasons), None)
    return None if reason is None else f"it {reason}"


def _options_reason(uri: str) -> str | None:
    seen: set[str] = set()
    for name, value in _pairs(uri):
        lower = name.lower()
        if not value and lower != "readpreferencetags":
            return f"its option `{name}` is empty; set or remove it"
        if lower in seen and lower != "readpreferencetags":
            return f"its option `{name}` is set twice; remove one of them"
        seen.add(lower)
    return None


def _authority(uri: str) -> str:
    """Extract user, password and hosts as the driver does."""
    rest = uri.partition("://")[2]
    return re.split(r"[/?]", rest, maxsplit=1)[0]


def hosts_of(uri: str) -> str:
    return _authority(uri).rpartition("@")[2]


def _pairs(uri: str) -> list[tuple[str, str]]:
    return parse_qsl(uri.partition("?")[2], keep_blank_values=True)


def _parse(uri: str) -> tuple[dict[str, object], list[str]]:
    """Parse options and the driver's warnings, without DNS lookups for `mongodb+srv://`."""
    if uri.startswith(SRV):
        # The driver accepts these options only for names that it looks up.
        uri = _rebuild(uri, hosts_of(uri), _SRV_OPTIONS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed = parse_uri(uri, warn=False)
    return dict(parsed["options"]), [str(each.message) for each in caught]


def _validate_each(uri: str) -> tuple[str | None, list[str]]:
    """Return the error in the first invalid option, or None, and the driver's warnings.

    About a whole connection string, the driver may omit the option's name and value.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, value in _pairs(uri):
            try:
                validate_options({name: value})
            except REJECTIONS as error:
                reason = _driver_reason(error, uri)
                option = _without_secrets(f"{name}={value}", uri)
                return reason if isinstance(error, OSError) else f"`{option}`: {reason}", []
    return None, [str(each.message) for each in caught]


def _without_secrets(text: str, uri: str) -> str:
    secrets = [_authority(uri).rpartition("@")[0].partition(":")[2]]
    for name, value in _pairs(uri):
        if name.lower() in _SECRET_OPTIONS:
            secrets += [value, *(part.partition(":")[2] for part in value.split(","))]
    for secret in filter(None, secrets):
        text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", MASK, text)
    return text
