"""Immutable objects with named fields, which are quick to define.

They look like frozen dataclasses. But `dataclass` compiles the methods of each class, which takes 0.4 ms, and its
module takes 6 ms to import. For the 15 classes of this package that was more than the rest that a command such as
``getstep-server standings`` needs of a game.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: bool):
        return lambda cls: cls


class _DataclassFields:
    """Makes `dataclasses.replace`, `fields` and `asdict` work for values: they ask a class for this attribute.

    The answer is kept by class: making it takes 0.5 ms.
    """

    def __init__(self) -> None:
        self._made: dict[type[Value], object] = {}

    def __get__(self, _: object, cls: type[Value]) -> object:
        if cls not in self._made:
            from dataclasses import make_dataclass  # here: see the top

            self._made[cls] = make_dataclass(cls.__name__, cls.__match_args__).__dataclass_fields__  # type: ignore[attr-defined]  # it has
        return self._made[cls]


@dataclass_transform(frozen_default=True)
class Value:
    """The base of a class whose annotations are the fields of its objects. Defaults are immutable."""

    __match_args__: ClassVar[tuple[str, ...]] = ()
    __dataclass_fields__ = _DataclassFields()

    def __init_subclass__(cls) -> None:
        cls.__match_args__ += tuple(cls.__annotations__)  # type: ignore[misc]  # of classes, mypy knows it already

    def __init__(self, *values: Any, **named: Any) -> None:
        names, kind = self.__match_args__, type(self)
        if len(values) > len(names):
            raise TypeError(f"{kind.__name__} got {len(values)} values, expected at most {len(names)}")
        given = dict(zip(names, values))  # noqa: B905 - there may be fewer values: the others have a default
        if wrong := [name for name in named if name in given or name not in names]:
            raise TypeError(f"{kind.__name__} got a value twice, or one that it does not have: {', '.join(wrong)}")
        if missing := [name for name in names if name not in given | named and not hasattr(kind, name)]:
            raise TypeError(f"{kind.__name__} is missing values: {', '.join(missing)}")
        self.__dict__.update(given, **named)
        self._check()

    def _check(self) -> None:
        """Raise ValueError if a field is wrong."""

    def _fields(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        return self._fields() == other._fields() if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        fields = map("{}={!r}".format, self.__match_args__, self._fields())
        return f"{type(self).__name__}({', '.join(fields)})"

    def __setattr__(self, name: str, value: object = None) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name} cannot be changed")

    __delattr__ = __setattr__
