"""Translates Java settings whose values differ in librdkafka."""

import re
from collections.abc import Callable, Mapping

from sidecar.properties.addresses import broker_list
from sidecar.sinks.kafka.config.java_names import LIBRDKAFKA, PREFIX, RENAMED, SAME
from sidecar.sinks.kafka.config.tls_stores import identity_settings, trust_setting

_LOGIN = re.compile(r"^\s*(\S+)\s+(required|requisite|sufficient|optional)\b(.*);\s*$", re.DOTALL)
_OPTION = re.compile(r"""(?<!\w)(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|(\S+))""")
_LOGIN_MODULES = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": "PLAIN",
    "org.apache.kafka.common.security.scram.ScramLoginModule": "SCRAM",
}
_LARGEST = (1 << 31) - 1
_NUMBERS = frozenset(
    name
    for name in SAME | RENAMED.keys() | LIBRDKAFKA
    if name.endswith((".ms", ".bytes", ".size", ".messages", ".kbytes", ".level", "retries"))
)
_SECURITY_PROTOCOLS = {"plaintext", "ssl", "sasl_plaintext", "sasl_ssl"}


def translate_settings(settings: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return librdkafka's settings, and a message for each mistake. `settings` have no prefix."""
    config: dict[str, str] = {}
    problems: list[str] = []
    for translate in _TRANSLATIONS:
        try:
            config.update(translate(settings))
        except ValueError as error:
            problems.append(f"{error}.")
    return config, problems


def _acks(settings: Mapping[str, str]) -> dict[str, str]:
    acks = settings.get("acks", "all").strip().lower()
    if acks not in ("all", "-1"):
        raise ValueError(
            f"`{PREFIX}acks` must be `all`, not `{acks}`: an event on a single broker can be lost "
            "after its offset is stored"
        )
    return {"acks": "all"}


def _buffers(settings: Mapping[str, str]) -> dict[str, str]:
    config = {}
    if "buffer.memory" in settings:
        kbytes = _number("buffer.memory", settings["buffer.memory"]) // 1024
        config["queue.buffering.max.kbytes"] = str(max(1, kbytes))
    for java, client in (
        ("send.buffer.bytes", "socket.send.buffer.bytes"),
        ("receive.buffer.bytes", "socket.receive.buffer.bytes"),
    ):
        if java in settings:
            # The system default: -1 in Java, 0 in librdkafka.
            config[client] = str(max(0, _number(java, settings[java])))
    for name in (
        *("batch.size", "linger.ms", "max.request.size", "message.max.bytes"),
        "queue.buffering.max.kbytes",
    ):
        if name in settings:
            _number(name, settings[name])
    return config


def _sizes(settings: Mapping[str, str]) -> dict[str, str]:
    # The client would truncate a larger number.
    for name, text in settings.items():
        if name in _NUMBERS and re.fullmatch(r"\s*\d+\s*", text) and int(text) > _LARGEST:
            raise ValueError(f"`{PREFIX}{name}` must be at most {_LARGEST}, not `{text}`")
    return {}


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ValueError(f"`{PREFIX}{name}` must be a whole number, not `{text}`") from error


def _security(settings: Mapping[str, str]) -> dict[str, str]:
    protocol = settings.get("security.protocol")
    if protocol is not None and protocol.strip().lower() not in _SECURITY_PROTOCOLS:
        raise ValueError(
            f"`{PREFIX}security.protocol` must be one of PLAINTEXT, SSL, SASL_PLAINTEXT and "
            f"SASL_SSL, not `{protocol}`"
        )
    return {} if protocol is None else {"security.protocol": protocol.strip().lower()}


def _jaas(settings: Mapping[str, str]) -> dict[str, str]:
    """`…PlainLoginModule required username="a" password="b";` → user name and password."""
    if "sasl.jaas.config" not in settings:
        return {}
    where = f"`{PREFIX}sasl.jaas.config`"
    match = _LOGIN.match(settings["sasl.jaas.config"])
    if match is None:
        raise ValueError(f'{where} must read `<login module> required name="value" …;`')
    kind = _LOGIN_MODULES.get(match[1])
    if kind is None:
        raise ValueError(
            f"{where} names {match[1]}; only PlainLoginModule and ScramLoginModule are supported. "
            f"For others set librdkafka's own `{PREFIX}sasl.*` settings"
        )
    options = {
        option[1]: re.sub(r"\\(.)", r"\1", option[2] or option[3] or option[4] or "")
        for option in _OPTION.finditer(match[3])
    }
    if "username" not in options or "password" not in options:
        raise ValueError(f"{where} must have a username and a password")
    mechanism = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", ""))
    if not mechanism.upper().startswith(kind):
        raise ValueError(
            f"{where} is for {kind}, but `{PREFIX}sasl.mechanism` is `{mechanism or 'GSSAPI'}`"
        )
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _host_check(settings: Mapping[str, str]) -> dict[str, str]:
    name = "ssl.endpoint.identification.algorithm"
    # An empty value disables the check in Java, `none` in librdkafka.
    return {name: settings[name].strip().lower() or "none"} if name in settings else {}


def _servers(settings: Mapping[str, str]) -> dict[str, str]:
    # The settings model rejects an empty list, because only the sink `kafka` needs it.
    if settings.get("bootstrap.servers"):
        try:
            broker_list(settings["bootstrap.servers"])
        except ValueError as error:
            raise ValueError(f"`{PREFIX}bootstrap.servers` {error}") from error
    return {}


_TRANSLATIONS: tuple[Callable[[Mapping[str, str]], dict[str, str]], ...] = (
    _servers,
    _acks,
    _sizes,
    _buffers,
    _security,
    _jaas,
    trust_setting,
    identity_settings,
    _host_check,
)
