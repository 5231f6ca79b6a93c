"""Connection strings with any option of the driver and any value."""

from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from pymongo.common import VALIDATORS

from mongo_agent.config.addresses import string_problem, string_warnings
from mongo_agent.config.client import client_settings
from mongo_agent.config.connection import ConnectionProperties

_SECRETS = ("authmechanismproperties", "tlscertificatekeyfilepassword")
_NAMES = st.sampled_from(sorted(VALIDATORS)) | st.text("abcDEF_", min_size=1)
_VALUES = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S")), min_size=1)
_MARK = "Qz7" * 4


@given(
    scheme=st.sampled_from(["mongodb", "mongodb+srv"]),
    name=_NAMES,
    value=_VALUES.map(lambda text: f"{_MARK}{text}") | _VALUES,
)
def test_invalid_option_is_named_without_secrets(scheme: str, name: str, value: str) -> None:
    text = f"{scheme}://user:{_MARK[::-1]}@a.b.c/?{urlencode({name: value})}"
    problem = string_problem(text)
    messages = [*([problem] if problem else []), *string_warnings(text)]
    for message in messages:
        assert _MARK[::-1] not in message
        if name in _SECRETS:
            assert _MARK not in message
    if problem is None:
        assert not name.startswith("srv") or scheme == "mongodb+srv"
    elif "only allowed with 'mongodb+srv://'" not in problem:
        assert name in problem or "the file" in problem
        assert name in _SECRETS or value in problem


def test_address_of_an_unchecked_connection_string_contains_no_password() -> None:
    """Settings that are read again are not checked, and a password may contain a slash."""
    uri = "mongodb://cdc:SeCret/w0rd?x@db1.example.com:27017,db2:27017/?replicaSet=rs0"
    properties = ConnectionProperties.model_construct(connection_string=SecretStr(uri))
    assert client_settings(properties).address == "db1.example.com:27017,db2:27017"
