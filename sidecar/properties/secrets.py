"""Recognizes and masks secrets by type, by setting name, and by the form of values.

The agents' own secret properties have the type `SecretStr`. Settings for clients
(`kafka.producer.*`) have no types, so their names decide: names from librdkafka, Kafka's Java
clients and schema registries, and similar names.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pydantic import SecretStr

from sidecar.properties.model import declarations
from sidecar.properties.types import MASK

if TYPE_CHECKING:
    from sidecar.properties.loading import LoadedProperties
    from sidecar.properties.model import Properties

_SECRET_NAME = re.compile(
    r"passw|passphrase|passcode|pwd|secret|jaas|token|credential|private|signature|user\.?info"
    r"|key\.pem|keystore\.key$|oauthbearer\.config$"
    r"|(api|access|account|shared|master|signing|encryption)[._-]?key",
    re.IGNORECASE,
)
_ABOUT_A_SECRET = re.compile(
    r"\.(file|location|path|dir|url|uri|source|provider|type|class|alias|enabled?|ms|seconds|sec"
    r"|client[._]?id|start\.token)$",
    re.IGNORECASE,
)
"""Settings about a secret, not the secret itself: `…private.key.file`, `…token.endpoint.url`,
`…client.credentials.client.id`. The token of `capture.start.token` is a position."""
_SECRET_VALUE = re.compile(
    r"PRIVATE KEY-----|(passw\w*|passphrase|secret\w*|\btoken|\bsig)\s*=", re.IGNORECASE
)
_IN_ADDRESS = re.compile(r"//[^/@,\s]*@")
"""User and password in a URL."""
_IN_LOGIN = re.compile(
    r"""(?<!\w)(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))"""
)
"""Names and values in a JAAS login, and in `name=value name=value`."""
_NO_SECRETS = re.compile(
    r"user_?name|user|principal|(client_?)?id|scope|issuer|audience|claim|realm"
    r"|service_?name|key_?tab|ticket_?cache|uri|url|location|path|type",
    re.IGNORECASE,
)
"""Names in a login whose values are not secret. For a dotted name, the last part counts, as in
`oauth.token.endpoint.uri`."""

_MIN_LENGTH = 8
_MIN_LINE_LENGTH = 16


def is_secret_name(name: str) -> bool:
    return bool(_SECRET_NAME.search(name)) and not _ABOUT_A_SECRET.search(name)


def shown_value(name: str, value: str) -> str:
    """Return the value of an untyped setting with secrets masked."""
    return MASK if is_secret_name(name) else shown_text(value)


def shown_text(value: str) -> str:
    """Return a value with recognizable secrets masked."""
    return MASK if _SECRET_VALUE.search(value) else _IN_ADDRESS.sub(f"//{MASK}@", value)


def hiding(loaded: "LoadedProperties[Properties]") -> Callable[[str], str]:
    """Return a function that masks a configuration's secrets in any text, such as messages of
    libraries.

    Short secrets and plain words stay, because they also occur in other texts.
    """
    seen = loaded.properties
    forms = _forms_of(seen)
    found = _any_of(forms)

    def hide(text: str) -> str:
        nonlocal seen, forms, found
        if (latest := loaded.properties.latest) is not seen:
            seen, forms = latest, forms | _forms_of(latest)
            found = _any_of(forms)
        return text if found is None else found.sub(MASK, text)

    return hide


def _forms_of(properties: "Properties") -> frozenset[str]:
    return frozenset(form for secret in _secrets(properties) for form in _forms(secret))


def _any_of(forms: frozenset[str]) -> re.Pattern[str] | None:
    # Longest first, or part of a longer secret would remain.
    ordered = sorted(forms, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))) if forms else None


def _secrets(properties: "Properties") -> Iterator[str]:
    for field_name, _, declaration in declarations(type(properties)):
        value = getattr(properties, field_name)
        if isinstance(value, SecretStr):
            yield from _parts(value.get_secret_value())
        elif declaration.is_prefix:
            for name, text in value.items():
                if shown_value(declaration.name + name, text) != text:
                    yield from _parts(text)


def _parts(secret: str) -> Iterator[str]:
    """Yield the secret itself, unless it is a URL, and secrets inside it."""
    found = _IN_LOGIN.findall(secret)
    values = [(name, "".join(forms)) for name, *forms in found]
    logins = [
        value
        for name, value in values
        if not _NO_SECRETS.fullmatch(name) or _SECRET_VALUE.search(value)
    ]
    users = [text[2:-1] for text in _IN_ADDRESS.findall(secret)]
    if not users:
        yield secret
    if not found and not users and "\n" not in secret and secret.count(":") == 1:
        users = [secret]
    yield from logins
    yield from (unquote(user.partition(":")[2]) for user in users)


def _forms(secret: str) -> Iterable[str]:
    """Return the forms in which a secret can occur in a text."""
    if len(secret) < _MIN_LENGTH or re.fullmatch(r"[a-z]+|[A-Z]+|\d+", secret):
        return ()
    lines = [line.strip() for line in secret.splitlines() if "-----" not in line]
    long_lines = [line for line in lines if len(line) >= _MIN_LINE_LENGTH]
    in_json = (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    return {secret, *in_json, repr(secret)[1:-1], quote(secret), *long_lines}
