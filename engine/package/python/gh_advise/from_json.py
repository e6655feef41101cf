"""Makes dataclasses of JSON, by the types of their fields."""

from __future__ import annotations

from dataclasses import Field, fields, is_dataclass
from functools import lru_cache
from typing import Any, Type, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


def built(kind: Type[T], value: Any, where: str) -> T:
    """`value` as a `kind`: a dataclass. Keys that it does not know are ignored, because later
    versions of the program add some.

    A field has the key of its name, or the one in its metadata ("key"); fields without `init` are
    left out. Raises ValueError, with the place in the JSON, if something is missing or of another
    type.
    """
    made: T = _built(kind, value, where)
    return made


def _built(kind: Any, value: Any, where: str) -> Any:
    origin, of = get_origin(kind), get_args(kind)
    if origin is Union:  # Optional
        return None if value is None else _built(of[0], value, where)
    if origin is tuple:
        _require(value, list, where)
        kinds = [of[0]] * len(value) if of[-1] is Ellipsis else list(of)
        if len(kinds) != len(value):
            raise ValueError(f"{where} has {len(value)} items instead of {len(kinds)}")
        return tuple(_built(k, v, f"{where}[{i}]") for i, (k, v) in enumerate(zip(kinds, value)))
    if is_dataclass(kind):
        _require(value, dict, where)
        return kind(**{f.name: _field(kind, f, value, where) for f in fields(kind) if f.init})
    if kind is float and type(value) is int:
        return float(value)
    return _require(value, kind, where)


def _field(kind: type, field: Field[Any], value: dict[str, Any], where: str) -> Any:
    key = field.metadata.get("key", field.name)
    if key not in value:
        raise ValueError(f"{where} has no {key!r}")
    return _built(_types(kind)[field.name], value[key], f"{where}.{key}")


def _require(value: Any, kind: type, where: str) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{where} is of type {type(value).__name__} instead of {kind.__name__}")
    return value


@lru_cache(maxsize=None)
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
