"""Checks whether the schema registry answers and accepts the agent."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Literal

from sidecar.check.check import Finding, fault, ok
from sidecar.errors import AccessDeniedError, ConfigError, UnavailableError
from sidecar.schema_registry.client import RegistryClient
from sidecar.schema_registry.registrar import Registrar
from sidecar.schema_registry.settings import RegistrySettings

SUBJECT = "schema_registry"

Registries = Mapping[Literal["key", "value"], RegistrySettings]


def registry_text(registries: Registries) -> str:
    """Return the registries' addresses and the timeout as text; empty without registries."""
    urls = list(dict.fromkeys(url for each in registries.values() for url in each.urls))
    if not urls:
        return ""
    longest_s = max(len(each.urls) * each.timeout_s for each in registries.values())
    return f"the schema registry {', '.join(urls)} (at most {longest_s:.0f} s)"


def check_registry(
    registries: Registries, subject: str, registrar: Registrar | None = None
) -> Iterator[Finding]:
    """Request a subject, which need not exist, from each registry. Registers schemas only if
    `registrar` detects changed ids."""
    if registrar is not None:
        # The requests below report an unavailable registry.
        with suppress(UnavailableError, AccessDeniedError):
            registrar.verify()
    seen: list[tuple[object, ...]] = []
    for side, settings in registries.items():
        client_of = (settings.urls, settings.user_info, settings.token, settings.tls)
        if client_of in seen:
            continue
        seen.append(client_of)
        prefix = f"{side}.converter."
        try:
            client = RegistryClient(settings)
        except ConfigError as error:
            yield fault(
                SUBJECT,
                str(error),
                f"Correct {prefix}schema.registry.ssl.*. Until then the agent exits with code 2.",
                code="schema_registry_settings_invalid",
            )
            continue
        try:
            client.require_answer(subject)
        except UnavailableError as error:
            yield fault(
                SUBJECT,
                _sentence(str(error)),
                f"Start the registry, or correct {prefix}schema.registry.url; the agent retries.",
                code="schema_registry_unavailable",
            )
        except AccessDeniedError as error:
            yield fault(
                SUBJECT,
                _sentence(str(error)),
                f"Correct {prefix}basic.auth.* or {prefix}bearer.auth.*, or allow this user to "
                "read and register schemas.",
                code="schema_registry_access_denied",
            )
        else:
            message = f"{', '.join(settings.urls)} answers."
            yield ok(SUBJECT, message, code="schema_registry_answers")
        finally:
            client.close()


def _sentence(text: str) -> str:
    whole = text[:1].upper() + text[1:]
    return whole if whole.endswith(".") else f"{whole}."
