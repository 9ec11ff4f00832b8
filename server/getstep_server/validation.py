"""Models: frozen msgspec structs that data from outside is converted to, each mistake with its place.

Theory of operation
-------------------

`validated` converts parsed data (TOML, JSON) to a model in one call of msgspec: about 1 µs for a small table. Types
are strict: ``true`` and ``"1"`` are not numbers; a whole number may stand for a float.

msgspec stops at the first mistake and words it for programmers. So `validated` walks through the data a second time
if the first conversion fails, and collects all mistakes with their places. Only wrong data pays for that.

A model states what a type alone cannot:

- ``Annotated[str, Check(function)]``: the function raises ValueError with the expected value as its text.
- `Model.mistakes`: rules for several fields. It gets the fields that are right: one mistake hides no other.

Both hold for a model that is built in Python, too; its types are not checked then, because mypy does.

msgspec was chosen by measurement: importing it takes 8 ms of CPU time, and its wheel 0.2 MB. pydantic takes 55 ms
and 10 MB, and then some ms for each model; a command such as ``standings`` has 60 ms in all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from math import isfinite
from typing import Any, ClassVar, NamedTuple, TypeAlias, TypeVar, get_args, get_origin

import msgspec
from msgspec import UNSET, Meta, Struct

Location: TypeAlias = tuple[str | int, ...]
"""The path to a value: ``("team", 2, "id")`` is the id of the third ``team``."""

_TEXTS = {
    "missing": "a value",
    "unknown": "no such key",
    "int_type": "a valid integer",
    "float_type": "a valid number",
    "bool_type": "a valid boolean",
    "string_type": "a valid string",
    "table_type": "a valid dictionary",
    "list_type": "a valid list",
    "gt": "greater than {gt}",
    "ge": "greater than or equal to {ge}",
    "lt": "less than {lt}",
    "le": "less than or equal to {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "finite": "a finite number",
    "string_too_short": "a string of at least {min_length} characters",
    "string_too_long": "a string of at most {max_length} characters",
    "too_short": "at least {min_length} items, not {length}",
    "too_long": "at most {max_length} items, not {length}",
    "wrong": "{expected}",
}


class Mistake(NamedTuple):
    """A value that does not fit its model, with its place.

    Attributes:
        location: the path to the value.
        value: the wrong value; for a missing one, the table around it.
        code: a key of the table of texts, so that another module can word it differently.
        context: the values of the text's placeholders.
    """

    location: Location
    value: object
    code: str
    context: Mapping[str, Any] = {}

    def below(self, *location: str | int) -> Mistake:
        """Return the mistake as seen from a table around the one at ``location``."""
        return self._replace(location=(*location, *self.location))

    def expected(self, texts: Mapping[str, str] = _TEXTS) -> str:
        """Return what was expected, in the words of ``texts``."""
        return texts.get(self.code, _TEXTS[self.code]).format(**self.context)

    def __str__(self) -> str:
        where = ".".join(map(str, self.location))
        return (
            f"{where} is missing"
            if self.code == "missing"
            else f"{where} is {_shown(self.value)}, expected {self.expected()}"
        )


def wrong(location: Location, value: object, expected: str) -> Mistake:
    """Return the mistake that the value at ``location`` is not what is ``expected``."""
    return Mistake(location, value, "wrong", {"expected": expected})


class ValidationError(ValueError):
    """Raised when data do not fit their model; unlike a plain ValueError it has all mistakes with their places."""

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        self.mistakes = list(mistakes)
        super().__init__("; ".join(map(str, self.mistakes)))


def Check(function: Callable[[Any], object], **constraints: Any) -> Meta:  # noqa: N802 - stands where `Meta` does
    """Return the annotation of a type whose values ``function`` checks: it raises ValueError for a wrong one.

    Args:
        function: is called with a value of the right type.
        constraints: those of `msgspec.Meta`.
    """
    return Meta(extra={"check": function}, **constraints)


class Model(Struct, frozen=True, kw_only=True):
    """A table of data: immutable, with strict types. Other keys are ignored, unless a model forbids them."""

    has_rules: ClassVar[bool] = False
    """True if the model overrides `mistakes`."""

    def __init_subclass__(cls) -> None:
        # most models have none: a record of a turn then costs nothing here
        cls.has_rules = "mistakes" in cls.__dict__ or cls.has_rules

    def __post_init__(self) -> None:
        for name, check in _checks_of(type(self)):
            value = getattr(self, name)
            if value is not None and value is not UNSET:
                check(value)
        if self.has_rules:
            mistakes = [*self.mistakes({name: getattr(self, name) for name in self.__struct_fields__})]
            if mistakes:
                raise ValidationError(mistakes)

    @classmethod
    def mistakes(cls, fields: Mapping[str, Any]) -> Iterator[Mistake]:  # noqa: ARG003 - models that override it use them
        """Yield the mistakes that the types do not show.

        Args:
            fields: those that are right by their types, defaults included.
        """
        yield from ()


M = TypeVar("M", bound=Struct)


def validated(model: type[M], data: object) -> M:
    """Return ``data``, which consist of dicts, lists and plain values, as a model.

    Raises:
        ValidationError: they do not fit; the error has every mistake.
    """
    _build(model)
    try:
        return msgspec.convert(data, model)
    except msgspec.ValidationError as error:
        raise ValidationError(mistakes_in(model, data) or [wrong((), data, str(error))]) from error


_building = threading.Lock()


@cache
def _build(model: type[Struct]) -> None:
    """Let msgspec build what it needs to know of a model, in one thread: two at the same time crash the process."""
    with _building:
        msgspec.json.Decoder(model)


def mistakes_in(model: type[Struct], data: object) -> list[Mistake]:
    """Return all mistakes in ``data``, in the order of the model's fields; none if they fit."""
    found: list[Mistake] = []
    _walk(msgspec.inspect.type_info(model), data, (), found)
    return found


@cache
def _checks_of(model: type[Struct]) -> tuple[tuple[str, Callable[[Any], object]], ...]:
    """Return the checks of a model's fields, with their names."""
    return tuple((field.name, check) for field in msgspec.structs.fields(model) for check in _checks_in(field.type))


def _checks_in(kind: Any) -> Iterator[Callable[[Any], object]]:
    """Yield the checks of a type, which may be ``X | None``, or a list of what is checked."""
    for meta in getattr(kind, "__metadata__", ()):
        if isinstance(meta, Meta) and meta.extra and "check" in meta.extra:
            yield meta.extra["check"]
    if get_origin(kind) is list:
        yield from (partial(_check_items, check) for one in get_args(kind) for check in _checks_in(one))
    inner = [kind.__origin__] if hasattr(kind, "__metadata__") else get_args(kind) if _is_union(kind) else []
    for one in inner:
        yield from _checks_in(one)


def _check_items(check: Callable[[Any], object], values: Iterable[Any]) -> None:
    for value in values:
        check(value)


def _is_union(kind: Any) -> bool:
    return type(None) in get_args(kind) or msgspec.UnsetType in get_args(kind)


# --- the second walk: where the mistakes are ----------------------------------------------------------------------

_WRONG = object()
"""Stands for a value that has a mistake."""


def _walk(kind: Any, value: object, location: Location, found: list[Mistake]) -> Any:
    """Append the mistakes of ``value`` to ``found``; return it as the type has it, or `_WRONG`."""
    from msgspec import inspect

    match kind:
        case inspect.Metadata():
            converted = _walk(kind.type, value, location, found)
            check = (kind.extra or {}).get("check")
            return (
                converted if check is None or converted is _WRONG else _checked(check, converted, location, found)
            )
        case inspect.UnionType():
            if value is None and any(isinstance(one, inspect.NoneType) for one in kind.types):
                return None
            inner = [one for one in kind.types if type(one).__name__ not in ("NoneType", "UnsetType")]
            for one in inner[1:]:
                others: list[Mistake] = []
                converted = _walk(one, value, location, others)
                if not others:
                    return converted
            return _walk(inner[0], value, location, found)
        case inspect.StructType():
            return _walk_struct(kind, value, location, found)
        case inspect.ListType() | inspect.VarTupleType() | inspect.TupleType():
            return _walk_list(kind, value, location, found)
        case inspect.DictType():
            return _walk_dict(kind, value, location, found)
        case inspect.AnyType():
            return value
        case inspect.LiteralType():
            expected = [repr(one) for one in kind.values]
            text = " or ".join([", ".join(expected[:-1]), expected[-1]] if expected[1:] else expected)
            # True == 1 in Python, and not in a file
            fits = any(type(value) is type(one) and value == one for one in kind.values)
            return value if fits else _mistake(found, wrong(location, value, text))
    return _walk_plain(kind, value, location, found)


def _walk_struct(kind: Any, value: object, location: Location, found: list[Mistake]) -> Any:
    if not isinstance(value, dict):
        return _mistake(found, Mistake(location, value, "table_type"))
    before, fields, names = len(found), {}, [field.name for field in kind.fields]
    rows: dict[str, list[Mistake]] = {name: [] for name in names}
    for field in kind.fields:
        if field.encode_name in value:
            inner = (*location, field.encode_name)
            fields[field.name] = _walk(field.type, value[field.encode_name], inner, rows[field.name])
        elif field.required:
            rows[field.name].append(Mistake((*location, field.encode_name), value, "missing"))
        elif field.default is not msgspec.NODEFAULT:
            fields[field.name] = field.default
        elif field.default_factory is not msgspec.NODEFAULT:  # else the default is UNSET
            fields[field.name] = field.default_factory()
    right = {name: one for name, one in fields.items() if one is not _WRONG}
    for mistake in kind.cls.mistakes(right) if issubclass(kind.cls, Model) else ():
        written = mistake._replace(value=_value_at(value, mistake.location, mistake.value))
        rows.setdefault(str(mistake.location[0]), []).append(written.below(*location))
    for row in rows.values():
        found += row
    if kind.forbid_unknown_fields:
        known = [field.encode_name for field in kind.fields]
        found += [
            Mistake((*location, name), one, "unknown", {"known": known})
            for name, one in value.items()
            if name not in known
        ]
    return _WRONG if len(found) > before else kind.cls(**right)


def _value_at(data: Any, location: Location, default: object) -> object:
    """Return the value as it was written, before its conversion; ``default`` if none was."""
    for part in location:
        try:
            data = data[part]
        except (LookupError, TypeError):
            return default
    return data


def _walk_list(kind: Any, value: object, location: Location, found: list[Mistake]) -> Any:
    if not isinstance(value, (list, tuple)):
        return _mistake(found, Mistake(location, value, "list_type"))
    before, length = len(found), len(value)
    types = getattr(kind, "item_types", None)
    least, most = (len(types),) * 2 if types else (kind.min_length or 0, kind.max_length)
    items = [
        _walk(types[index] if types else kind.item_type, one, (*location, index), found)
        for index, one in enumerate(value[:most] if types else value)
    ]
    if length < least:
        found.append(Mistake(location, value, "too_short", {"min_length": least, "length": length}))
    elif most is not None and length > most:
        found.append(Mistake(location, value, "too_long", {"max_length": most, "length": length}))
    return _WRONG if len(found) > before else type(value)(items)


def _walk_dict(kind: Any, value: object, location: Location, found: list[Mistake]) -> Any:
    if not isinstance(value, dict):
        return _mistake(found, Mistake(location, value, "table_type"))
    before = len(found)
    items = {key: _walk(kind.value_type, one, (*location, key), found) for key, one in value.items()}
    return _WRONG if len(found) > before else items


def _walk_plain(kind: Any, value: object, location: Location, found: list[Mistake]) -> Any:
    from msgspec import inspect

    expected: dict[Any, tuple[str, tuple[type, ...]]] = {
        inspect.IntType: ("int_type", (int,)),
        inspect.FloatType: ("float_type", (int, float)),
        inspect.StrType: ("string_type", (str,)),
        inspect.BoolType: ("bool_type", (bool,)),
    }
    code, types = expected[type(kind)]
    # A StrEnum is a string for msgspec, too; `True` is an int for isinstance, and not for msgspec.
    if type(value) not in types and not (code == "string_type" and isinstance(value, str)):
        return _mistake(found, Mistake(location, value, code))
    if isinstance(kind, inspect.StrType):
        return _within_length(kind, value, location, found)
    if isinstance(value, float) and not isfinite(value):
        return _mistake(found, Mistake(location, value, "finite"))
    for bound, fits in _BOUNDS.items():
        limit = getattr(kind, bound, None)
        if limit is not None and not fits(value, limit):
            return _mistake(found, Mistake(location, value, bound, {bound: limit}))
    return float(value) if isinstance(kind, inspect.FloatType) and isinstance(value, int) else value


_BOUNDS: dict[str, Callable[[Any, Any], bool]] = {
    "gt": lambda value, limit: value > limit,
    "ge": lambda value, limit: value >= limit,
    "lt": lambda value, limit: value < limit,
    "le": lambda value, limit: value <= limit,
    "multiple_of": lambda value, unit: value % unit == 0,
}


def _within_length(kind: Any, value: Any, location: Location, found: list[Mistake]) -> Any:
    if len(value) < (kind.min_length or 0):
        return _mistake(found, Mistake(location, value, "string_too_short", {"min_length": kind.min_length}))
    if kind.max_length is not None and len(value) > kind.max_length:
        return _mistake(found, Mistake(location, value, "string_too_long", {"max_length": kind.max_length}))
    return value


def _checked(check: Callable[[Any], object], value: Any, location: Location, found: list[Mistake]) -> Any:
    try:
        check(value)
    except ValueError as error:
        return _mistake(found, wrong(location, value, str(error)))
    return value


def _mistake(found: list[Mistake], mistake: Mistake) -> Any:
    found.append(mistake)
    return _WRONG


def _shown(value: object) -> str:
    try:
        return f"{value!r:.80}"
    except ValueError:  # int() refuses to write more than 4,300 digits
        return "a number with too many digits"
    except RecursionError:
        return "nested too deep"
