"""What the tables of contest.toml and teams.toml are made of."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from getstep.wire import MAX_MS, MAX_NAME, MAX_TEAM

from ._text import printable

T = TypeVar("T")


class Model(BaseModel):
    """A table: no setting that it does not know, no value of another type, and it never changes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def visible(value: object) -> object:
    """A validator for texts that people read in a line."""
    if isinstance(value, str) and (not value or value != value.strip() or printable(value) != value):
        raise ValueError("visible characters, without blanks around them")
    return value


def _host(value: str) -> str:
    try:
        value.encode("idna")
    except UnicodeError:
        raise ValueError("a host name or an IP address") from None
    return value


def _address(value: str) -> str:
    try:
        ip_address(value)
    except ValueError:
        raise ValueError("an IP address such as 192.168.1.20") from None
    return value


def once_each(values: list[T]) -> list[T]:
    """A validator for lists in which nothing may be twice."""
    if len(set(values)) < len(values):
        raise ValueError("each of them once")
    return values


Name = Annotated[str, Field(max_length=MAX_NAME), BeforeValidator(visible)]
Host = Annotated[Name, AfterValidator(_host)]
Address = Annotated[str, AfterValidator(_address)]
Port = Annotated[int, Field(ge=0, le=65535)]
TeamId = Annotated[int, Field(ge=0, le=MAX_TEAM)]
Seconds = Annotated[float, Field(gt=0, le=MAX_MS // 1000, allow_inf_nan=False)]
