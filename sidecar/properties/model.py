"""The base class of configuration models, and the declaration of a property."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticUndefined

from sidecar.errors import ConfigError
from sidecar.properties.types import value_text

_LARGEST = (1 << 63) - 1
"""The largest number that all components support."""

REJECTED_VALUE = "rejected_value"
"""Type of the validation error for a value of an unsupported feature."""

PassThrough = Annotated[Mapping[str, str], AfterValidator(lambda m: MappingProxyType(dict(m)))]
"""Unparsed properties under a prefix, by their names without the prefix."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declaration of one property, or of all properties under a prefix."""

    name: str
    doc: str
    aliases: tuple[str, ...] = ()
    secret: bool = False
    is_prefix: bool = False
    has_placeholders: bool = False
    """Whether the property interprets `${…}` itself when it is not a reference."""
    is_per_node: bool = False
    """Whether the value belongs to one node, so that it differs between equal configurations."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every name under which the property can be set, the documented name first."""
        return (self.name, *self.aliases)


def prop(
    name: str,
    *,
    doc: str,
    default: Any = PydanticUndefined,
    aliases: Sequence[str] = (),
    secret: bool = False,
    rejected_values: Mapping[str, str] | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    min_length: int | None = None,
    has_placeholders: bool = False,
    is_per_node: bool = False,
) -> Any:
    """Declare a field: its dotted name, description and constraints.

    Without `default`, the property is required. `aliases` are alternative names. A `secret` field
    has the type `SecretStr` and is never shown. `rejected_values` maps values of unsupported
    features, as `config show` writes them, to the reason. A number with a minimum must also fit
    into 64 bits. With `has_placeholders`, unknown `${…}` stay in the value. `is_per_node` excludes
    the property from the fingerprint of a configuration.
    """
    if le is None and (ge is not None or gt is not None):
        le = _LARGEST
    constraints: dict[str, Any] = {"ge": ge, "gt": gt, "le": le, "min_length": min_length}
    given = {name: limit for name, limit in constraints.items() if limit is not None}
    info: FieldInfo = Field(default, **given)
    info.metadata.append(
        Declaration(
            name,
            doc,
            tuple(aliases),
            secret,
            has_placeholders=has_placeholders,
            is_per_node=is_per_node,
        )
    )
    if le is not None:
        info.metadata.append(BeforeValidator(_without_separators))
    if rejected_values:
        info.metadata.append(AfterValidator(_reject(rejected_values)))
    return info


def pass_through(prefix: str, *, doc: str, has_placeholders: bool = False) -> Any:
    """Declare a `PassThrough` field: every property whose name starts with `prefix`."""
    declaration = Declaration(prefix, doc, is_prefix=True, has_placeholders=has_placeholders)
    # A factory, because pydantic copies a default that it cannot hash.
    info: Any = Field(default_factory=lambda: MappingProxyType({}), repr=False)
    info.metadata.append(declaration)
    return info


def _without_separators(value: Any) -> Any:
    """Reject `_` between digits, which Python allows and Java does not."""
    if isinstance(value, str) and "_" in value:
        raise ValueError("must be a number without `_`")
    return value


def _reject(rejected_values: Mapping[str, str]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        reason = rejected_values.get(value_text(value))
        if reason is None:
            return value
        context = {"value": value_text(value), "reason": reason}
        raise PydanticCustomError(REJECTED_VALUE, "cannot be `{value}`: {reason}", context)

    return check


class Properties(BaseModel):
    """A frozen set of properties. Subclasses add fields, each declared by `prop`.

    `inert` names are accepted with a warning: they have no effect, and the text gives the reason.
    `unsupported` names belong to features that this release does not support.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    inert: ClassVar[Mapping[str, str]] = {}
    unsupported: ClassVar[Mapping[str, str]] = {}
    _read_again: Callable[[], Self] | None = PrivateAttr(default=None)
    _latest: Self | None = PrivateAttr(default=None)

    def note_source(self, read_again: Callable[[], Self]) -> None:
        """Set the function that rereads settings with file references; it may raise ConfigError."""
        self._read_again = read_again

    def reread(self) -> Self:
        """Return the settings with each `${file:…}` read again, for a new connection: an operator
        may have changed a password. Return these settings if a file is unusable."""
        if self._read_again is not None:
            with suppress(ConfigError):
                self._latest = self._read_again()
                return self._latest
        return self

    @property
    def latest(self) -> Self:
        """The most recently read settings."""
        return self if self._latest is None else self._latest

    def warnings(self) -> tuple[str, ...]:
        """Messages about accepted settings without the expected effect."""
        return ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        for field_name, info in cls.model_fields.items():
            types = (info.annotation, *get_args(info.annotation))
            if declaration_of(info).secret and SecretStr not in types:
                raise TypeError(f"{cls.__name__}.{field_name} is secret, so it must be a SecretStr")


def declaration_of(info: FieldInfo) -> Declaration:
    """Return a field's declaration. Raises TypeError without `prop` or `pass_through`."""
    for item in info.metadata:
        if isinstance(item, Declaration):
            return item
    raise TypeError("a field of a Properties model is declared by prop() or pass_through()")


def declarations(model: type[Properties]) -> Iterator[tuple[str, FieldInfo, Declaration]]:
    """Yield field name, field and declaration, in the order of the model."""
    for field_name, info in model.model_fields.items():
        yield field_name, info, declaration_of(info)
