"""Where MongoDB is: `mongodb.hosts` and `mongodb.connection.string`, checked without a connection.

The driver's own reasons are written for programmers, and may quote parts of a password. They are
replaced where an operator can make the mistake.
"""

import re
import warnings
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlencode

from pymongo.errors import ConfigurationError, InvalidURI
from pymongo.uri_parser import parse_uri

HOSTS, STRING = "`mongodb.hosts`", "`mongodb.connection.string`"
SRV = "mongodb+srv://"
_PLAIN = "mongodb://"
_SRV_OPTIONS = ("srvservicename", "srvmaxhosts")
_LARGEST_PORT = 65535
_SET_NAME = re.compile(r"[^\s/,;:?@\[\]]+")
_HOST = re.compile(r"[\w.-]+|\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]")
_FORM = "it must be `host:port,host:port` or `rs0/host:port,…`"
_ESCAPED = (
    "characters of the user or password must be escaped: write `@` as `%40`, `/` as `%2F`, `:` as "
    "`%3A` and `%` as `%25`, or use `mongodb.user` and `mongodb.password`"
)


def split_hosts_value(text: str) -> tuple[str, str]:
    """The name of the replica set, or nothing, and the addresses."""
    name, slash, members = text.strip().partition("/")
    return (name, members) if slash else ("", name)


def hosts_problem(text: str) -> str | None:
    """A sentence about a value of `mongodb.hosts` that cannot be used."""
    if "://" in text:
        scheme = text.strip().partition("://")[0]
        remedy = f"Set {STRING} to it" if scheme.startswith("mongodb") else "Leave the scheme out"
        return f"{HOSTS} has `{scheme}://`; {_FORM}. {remedy}."
    if "?" in text:
        return f"{HOSTS} has options (`?`); {_FORM}. A {STRING} takes options."
    if ";" in text or text.count("/") > 1:
        return (
            f"{HOSTS} names several replica sets; name one, or the mongos of the sharded cluster."
        )
    name, members = split_hosts_value(text)
    if "/" in text and not _SET_NAME.fullmatch(name):
        hint = " The name of the replica set is its first part." if ":" in name else ""
        return f"{HOSTS} has `{name}` for the name of a replica set; {_FORM}.{hint}"
    for part in members.split(","):
        reason = _address_problem(part.strip())
        if reason is not None:
            return f"{HOSTS} {reason}; {_FORM}."
    return None


def _address_problem(part: str) -> str | None:
    if not part:
        return "has an empty part"
    if "@" in part:
        return "has a login (`@`), which `mongodb.user` and `mongodb.password` take"
    host, colon, port = part.rpartition(":")
    if not colon or part.endswith("]"):
        host, port = part, "27017"
    if ":" in host and re.fullmatch(r"[0-9A-Fa-f:.]+", host):
        return f"has `{part}`, and an IPv6 address stands in brackets, `[{host}]:{port}`"
    if re.search(r"[:;]", host.strip("[]")) and not host.startswith("["):
        return f"has `{part}`, and commas separate addresses"
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= _LARGEST_PORT):
        hint = ", and a comment needs a line of its own" if "#" in part else ""
        return f"has the port `{port}`, and ports are 1 to {_LARGEST_PORT}{hint}"
    if not _HOST.fullmatch(host):
        return f"has `{host}`, which is no host name"
    return None


def string_problem(text: str, *, has_login: bool = False) -> str | None:
    """A sentence about a connection string that no driver can use. Nothing of its login is quoted.

    Of `mongodb+srv://` everything is checked but what only DNS knows. With `has_login` properties
    take the place of its user and password.
    """
    reason = _string_reason(text.strip(), has_login)
    return None if reason is None else f"{STRING} cannot be used: {reason}."


def string_warnings(text: str) -> Iterator[str]:
    """A sentence for each option that the driver ignores."""
    try:
        _, ignored = _parsed(text.strip())
    except (ConfigurationError, InvalidURI, ValueError, OSError):
        return
    for reason in dict.fromkeys(ignored):
        yield f"{STRING} has an option that the driver ignores: {reason.rstrip('.')}."


def string_options(text: str) -> dict[str, object]:
    """Options of a connection string by the driver's names. Empty for one that cannot be used."""
    try:
        options, _ = _parsed(text.strip())
    except (ConfigurationError, InvalidURI, ValueError, OSError):
        return {}
    return options


def _string_reason(uri: str, has_login: bool) -> str | None:
    if not uri.startswith((_PLAIN, SRV)):
        return "it must begin with `mongodb://` or `mongodb+srv://`"
    if re.search(r"\s", uri.rpartition("@")[2]):
        return "it has a space; a comment needs a line of its own"
    reason = _login_reason(uri, has_login) or _hosts_reason(uri) or _options_reason(uri)
    if reason is not None:
        return reason
    try:
        _parsed(uri)
    except (ConfigurationError, InvalidURI, ValueError) as error:
        text = str(error).splitlines()[0].rstrip(".")
        if "quote_plus" in text:
            return _ESCAPED
        return _without_secret(text.replace(" Refer to docstring", ""), uri)
    except OSError as error:
        return f"it names the file {error.filename}, which cannot be read: {error.strerror}"
    return None


def _login_reason(uri: str, has_login: bool) -> str | None:
    """Nothing of the login is in it."""
    authority = _authority(uri)
    login, at, _ = authority.rpartition("@")
    rest = uri.partition("://")[2].removeprefix(authority)
    # Behind a `/` or `?` in a password the rest of it would pass for a path or for options.
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
        return "it names a user without a password; add it, or set `mongodb.user` and its password"
    return None


def _hosts_reason(uri: str) -> str | None:
    parts = _authority(uri).rpartition("@")[2].split(",")
    if not any(parts):
        return "it must have at least one hostname"
    if uri.startswith(SRV):
        host = parts[0]
        if len(parts) > 1:
            return "with `mongodb+srv://` it must have one host name, which DNS resolves to all"
        if ":" in host:
            return "with `mongodb+srv://` it must have no port, which DNS tells"
        if re.fullmatch(r"[\d.]+", host):
            return f"with `mongodb+srv://` it must have a host name, and `{host}` is an address"
        return None
    if any(part.startswith("%2F") for part in parts):
        return "it names a socket of this machine; name `host:port`"
    reasons = (_address_problem(part) for part in parts)
    reason = next(filter(None, reasons), None)
    return None if reason is None else f"it {reason}"


def _options_reason(uri: str) -> str | None:
    seen: set[str] = set()
    for name, value in _pairs(uri):
        lower = name.lower()
        if not value and lower != "readpreferencetags":
            return f"its option `{name}` is empty; set it or leave it out"
        if lower in seen and lower != "readpreferencetags":
            return f"its option `{name}` is set twice; keep one of them"
        seen.add(lower)
    return None


def _authority(uri: str) -> str:
    """User, password and hosts, as far as the driver takes them."""
    rest = uri.partition("://")[2]
    return re.split(r"[/?]", rest, maxsplit=1)[0]


def _pairs(uri: str) -> list[tuple[str, str]]:
    return parse_qsl(uri.partition("?")[2], keep_blank_values=True)


def _parsed(uri: str) -> tuple[dict[str, object], list[str]]:
    """Options, and the driver's warnings. Names behind `mongodb+srv://` are not looked up."""
    if uri.startswith(SRV):
        # The driver knows these options with the names that are looked up alone.
        kept = [(name, value) for name, value in _pairs(uri) if name.lower() not in _SRV_OPTIONS]
        before, mark, _ = uri.partition("?")
        before = _PLAIN + before.removeprefix(SRV)
        if mark and kept:
            slash = "" if "/" in before.partition("://")[2] else "/"
            uri = f"{before}{slash}?{urlencode(kept)}"
        else:
            uri = before
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        parsed = parse_uri(uri, warn=False)
    return dict(parsed["options"]), [str(each.message) for each in caught]


def _without_secret(text: str, uri: str) -> str:
    """A reason without the password, in case a driver repeats it."""
    secret = _authority(uri).rpartition("@")[0].partition(":")[2]
    if not secret:
        return text
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "********", text)
