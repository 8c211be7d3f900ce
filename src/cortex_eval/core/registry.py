"""One door for built-ins and plugins: a name, a class, and settings that are checked before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any, Generic, TypeVar

from cortex_eval.core.errors import InputError, did_you_mean
from cortex_eval.core.settings import check_settings

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
            if getattr(cls, "kind", None) == "":
                cls.kind = name  # type: ignore[attr-defined]  # a target that does not say what it is, is this
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
