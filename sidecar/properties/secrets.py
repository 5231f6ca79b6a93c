"""What must not be shown: by the names of settings, by what values look like, and by the values.

Properties of ours that are secret have a type that hides them (`SecretStr`). What is passed on to
others (`kafka.producer.*`) has none, so its name tells: those of librdkafka, of Kafka's Java
clients and of schema registries, and whatever is called like them.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pydantic import SecretStr

from sidecar.properties.model import declarations
from sidecar.properties.text import MASK

if TYPE_CHECKING:
    from sidecar.properties.loading import Loaded
    from sidecar.properties.model import Properties

_SECRET_NAME = re.compile(
    r"passw|passphrase|passcode|pwd|secret|jaas|token|credential|private|signature|user\.?info"
    r"|key\.pem|keystore\.key$|oauthbearer\.config$"
    r"|(api|access|account|shared|master|signing|encryption)[._-]?key",
    re.IGNORECASE,
)
_ABOUT_A_SECRET = re.compile(
    r"\.(file|location|path|dir|url|uri|source|provider|type|class|alias|enabled?|ms|seconds|sec"
    r"|client[._]?id)$",
    re.IGNORECASE,
)
"""Where a secret is, how it is got, or whose it is: `…private.key.file`, `…token.endpoint.url`,
`…client.credentials.client.id`."""
_SECRET_VALUE = re.compile(
    r"PRIVATE KEY-----|(passw\w*|passphrase|secret\w*|\btoken|\bsig)\s*=", re.IGNORECASE
)
_IN_ADDRESS = re.compile(r"//[^/@,\s]*@")
"""User and password in the address of a server."""
_IN_LOGIN = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")
"""Names and values in a login of JAAS, and in `name=value name=value`."""
_NO_SECRETS = re.compile(
    r"user_?name|user|principal|(client_?)?id|scope|issuer|audience|claim|realm"
    r"|service_?name|key_?tab|ticket_?cache|uri|url|location|path|type",
    re.IGNORECASE,
)
"""Names there whose values are none; of a name with dots the last part, as in
`oauth.token.endpoint.uri`."""

_LEAST_TELLING = 8
_LEAST_LINE = 16


def is_secret_name(name: str) -> bool:
    """Whether a setting of this name holds a secret."""
    return bool(_SECRET_NAME.search(name)) and not _ABOUT_A_SECRET.search(name)


def shown_value(name: str, value: str) -> str:
    """The value of a setting that has no type of ours, as people may see it."""
    return MASK if is_secret_name(name) else shown_text(value)


def shown_text(value: str) -> str:
    """A value without what is plainly a secret in it."""
    return MASK if _SECRET_VALUE.search(value) else _IN_ADDRESS.sub(f"//{MASK}@", value)


def hiding(loaded: "Loaded[Properties]") -> Callable[[str], str]:
    """Takes the secrets of a configuration out of any text: the last line of defence, for what
    libraries say.

    Secrets that are short, or a plain word, stay: they would be found in texts that do not tell
    them.
    """
    forms = {form for secret in _secrets(loaded) for form in _forms(secret)}
    if not forms:
        return str
    # The longest first, or a part of it would be left.
    found = re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))

    def hide(text: str) -> str:
        return found.sub(MASK, text)

    return hide


def _secrets(loaded: "Loaded[Properties]") -> Iterator[str]:
    for field_name, _, declaration in declarations(type(loaded.properties)):
        value = getattr(loaded.properties, field_name)
        if isinstance(value, SecretStr):
            yield from _parts(value.get_secret_value())
        elif declaration.is_prefix:
            for name, text in value.items():
                if shown_value(declaration.name + name, text) != text:
                    yield from _parts(text)


def _parts(secret: str) -> Iterator[str]:
    """The secret itself, and what is one inside of it."""
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
    """How it may stand in a text."""
    if len(secret) < _LEAST_TELLING or re.fullmatch(r"[a-z]+|[A-Z]+|\d+", secret):
        return ()
    lines = [line.strip() for line in secret.splitlines() if "-----" not in line]
    long_lines = [line for line in lines if len(line) >= _LEAST_LINE]
    in_json = (json.dumps(secret, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))
    return {secret, *in_json, repr(secret)[1:-1], quote(secret), *long_lines}
