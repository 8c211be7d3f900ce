"""One door for built-ins and plugins: a name, a class, and settings that are checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any, Generic, TypeVar, get_type_hints

from cortex_eval.core.errors import InputError, Problem, did_you_mean

T = TypeVar("T")
C = TypeVar("C", bound=type)


class Registry(Generic[T]):
    """Classes by name. Built-ins are named with their module and imported when first asked for."""

    def __init__(self, noun: str, builtins: Mapping[str, str]) -> None:
        self.noun = noun
        self._modules = dict(builtins)
        self._classes: dict[str, type[T]] = {}

    def register(self, name: str) -> Callable[[C], C]:
        """Make a dataclass known under a name; its fields are its settings."""

        def add(cls: C) -> C:
            assert is_dataclass(cls), f"{cls.__name__} must be a dataclass: its fields are its settings"
            self._classes[name] = cls  # type: ignore[assignment]  # T is a Protocol: the class is checked where it is used
            return cls

        return add

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._modules, *self._classes}))

    def __contains__(self, name: object) -> bool:
        return name in self._classes or name in self._modules

    def find(self, name: str) -> type[T]:
        """The class of this name; an unknown name is an InputError that offers the nearest one."""
        if name not in self._classes and name in self._modules:
            import_module(self._modules[name])
        try:
            return self._classes[name]
        except KeyError:
            raise InputError(f"There is no {self.noun} {name!r}. {did_you_mean(name, self)}") from None

    def build(self, name: str, settings: Mapping[str, Any]) -> T:
        """An instance with these settings; all that is wrong with them is told at once, by field."""
        cls = self.find(name)
        return cls(**check_settings(cls, settings, owner=name))


def check_settings(cls: type, settings: Mapping[str, Any], *, owner: str) -> dict[str, Any]:
    """The settings of a dataclass, with every value of the right type; raises InputError with a problem per field."""
    from pydantic import ValidationError  # a fifth of a second that `import cortex_eval` must not pay

    model = _settings_model(cls)
    known = list(model.model_fields)
    problems = [
        Problem(field=f"{owner}.{key}", message=f"{owner} has no setting {key!r}. {did_you_mean(str(key), known)}")
        for key in settings
        if key not in known
    ]
    try:
        checked = model.model_validate({key: value for key, value in settings.items() if key in known})
    except ValidationError as error:
        for each in error.errors():
            place = ".".join([owner, *map(str, each["loc"])])
            found = "" if each["type"] == "missing" else f", not {short_repr(each['input'])}"
            problems.append(Problem(field=place, message=f"{place}: {each['msg']}{found}"))
    if problems:
        raise InputError(problems)
    return {key: getattr(checked, key) for key in known if key in settings}


def short_repr(value: object, width: int = 80) -> str:
    """A value as it was found, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= width else text[: width - 1] + "…"


@cache
def _settings_model(cls: type) -> Any:  # Any: a pydantic model made from the dataclass's fields
    from pydantic import ConfigDict, create_model  # see check_settings

    hints = get_type_hints(cls, include_extras=True)
    model_fields: dict[str, Any] = {}
    for f in fields(cls):
        if not f.init:
            continue
        default = ... if f.default is MISSING and f.default_factory is MISSING else None
        model_fields[f.name] = (hints[f.name], default)
    return create_model(
        cls.__name__,
        __config__=ConfigDict(extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False),
        **model_fields,
    )
