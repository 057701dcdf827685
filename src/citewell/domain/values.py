"""Frozen dataclasses that are made quickly: `@dataclass(frozen=True, slots=True)`, which behaves as the library's does.

The library compiles six methods for each class; a command that starts anew each time waits longer for that than for
reading its modules. Here one is compiled and the others are shared, in a third of the time. What this does not know
(inherited fields, `InitVar`, fields by keyword only) is left to the library. Type checkers see the library's.

Example:
    @dataclass(frozen=True, slots=True)
    class Span:
        start: int
        end: int = 0

    Span(3) == Span(3, 0), and both have one hash; Span(3).end = 1 raises FrozenInstanceError; replace(Span(3), end=5)
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from inspect import get_annotations
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen, slots):
        """The decorator, in the one form that values have here."""
        if not (frozen and slots):
            raise TypeError("a value is frozen and has slots; for anything else there is the library's dataclass")
        return _value


__all__ = ["dataclass"]
T = TypeVar("T")
Fields = Sequence[dataclasses.Field[Any]]
_of_library = dataclasses.dataclass(frozen=True, slots=True)
_FACTORY = object()


def _value(cls: type[T]) -> type[T]:
    if not _has_plain_fields(cls):
        return _of_library(cls)
    # The library would describe a class that says nothing of itself by its signature, which is slow to find.
    cls.__doc__ = cls.__doc__ or f"{cls.__name__}({', '.join(get_annotations(cls))})"
    # The library finds the fields and makes the slots; only the methods are made here.
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields = dataclasses.fields(made)
    methods = {"__init__": _init(made, fields), "__repr__": _repr, **_comparing(fields)}
    for name, method in methods.items():
        if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
            setattr(made, name, method)
    made.__setattr__, made.__delattr__ = _refuse_set, _refuse_delete
    made.__getstate__, made.__setstate__ = _state, _restore
    parameters = made.__dataclass_params__
    parameters.init = parameters.repr = parameters.eq = parameters.frozen = True
    return made  # type: ignore[no-any-return]


def _has_plain_fields(cls: type) -> bool:
    """Whether all fields are the class's own, and each is an argument that may be given by its place."""
    if any("__dataclass_fields__" in base.__dict__ for base in cls.__mro__[1:]):
        return False
    for name, kind in get_annotations(cls).items():
        about = cls.__dict__.get(name)
        if "InitVar" in str(kind) or "KW_ONLY" in str(kind):
            return False
        if isinstance(about, dataclasses.Field) and not (about.init and about.kw_only is dataclasses.MISSING):
            return False
    return True


def _init(cls: type, fields: Fields) -> Callable[..., None]:
    """`__init__`, with the globals of the class's own module, as the library has it."""
    known: dict[str, Any] = {"_FACTORY": _FACTORY}
    arguments, body = ["self"], []
    for number, field in enumerate(fields):
        argument = value = field.name
        known[f"_set{number}"] = vars(cls)[field.name].__set__
        if field.default is not dataclasses.MISSING:
            known[f"_default{number}"] = field.default
            argument = f"{field.name}=_default{number}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"_default{number}"] = field.default_factory
            argument = f"{field.name}=_FACTORY"
            value = f"_default{number}() if {field.name} is _FACTORY else {field.name}"
        arguments.append(argument)
        body.append(f"_set{number}(self, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    source = (
        f"def make({', '.join(known)}):\n"
        f" def __init__({', '.join(arguments)}): {'; '.join(body) or 'pass'}\n"
        " return __init__"
    )
    made: dict[str, Any] = {}
    exec(source, vars(sys.modules[cls.__module__]), made)
    init: Callable[..., None] = made["make"](**known)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {field.name: field.type for field in fields} | {"return": None}
    return init


def _comparing(fields: Fields) -> dict[str, Any]:
    """`__eq__` and `__hash__`."""
    compared = _values_of([field.name for field in fields if field.compare])
    hashed = compared
    if any(field.hash is not None for field in fields):
        hashed = _values_of([field.name for field in fields if (field.compare if field.hash is None else field.hash)])

    def is_equal(self: object, other: object) -> bool:
        return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_of(self: object) -> int:
        return hash(hashed(self))

    return {"__eq__": is_equal, "__hash__": hash_of}


def _values_of(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    match names:
        case []:
            return lambda self: ()
        case [name]:
            return lambda self: (getattr(self, name),)
        case _:
            return attrgetter(*names)


def _repr(self: Any) -> str:
    shown = ", ".join(f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr)
    return f"{self.__class__.__qualname__}({shown})"


def _refuse_set(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
