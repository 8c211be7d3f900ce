"""A plain function as a scorer."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, make_dataclass
from functools import update_wrapper
from typing import Any, cast, overload

from cortex_eval.core import Case, InputError, JudgeError, Level, Registry, Reply, Score, short_repr
from cortex_eval.scoring.base import AnyScorer, PlannedScorer, ScoreFunction, kind_for, scorers

_functions: set[str] = set()
"""Names that belong to functions; these may be defined again, as in a notebook."""


class FunctionScorer:
    """A scorer made from a function; calling it calls the function as it was."""

    __wrapped__: ScoreFunction
    __name__: str

    def __init__(
        self,
        function: ScoreFunction,
        *,
        name: str,
        threshold: float | None = None,
        blocking: bool = False,
        level: Level = "turn",
        version: str = "1",
    ) -> None:
        update_wrapper(self, function)
        self.name = name
        self.threshold = threshold
        """The score passes at or above it; None: the plan's passing threshold."""
        self.level: Level = level
        self.version = version
        self._function = function
        self._blocking = blocking

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # Any: whatever the function takes and gives
        """What the function gives."""
        return self._function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<scorer {self.name}>"

    @property
    def fingerprint(self) -> str:
        """Changes with the function's code."""
        code = getattr(self._function, "__code__", None)
        try:
            text = inspect.getsource(self._function)
        except (OSError, TypeError):  # typed at a prompt, or not a function but a callable
            text = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(type(self._function))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    async def score(self, case: Case, reply: Reply) -> Score:
        """What the function says of the reply, as a score; JudgeError when it gives back something else."""
        return self._to_score(await self._call(case, reply))

    async def score_case(self, case: Case, replies: Sequence[Reply]) -> Score:
        """What a function of level "case" says of the conversation."""
        return self._to_score(await self._call(case, replies))

    async def _call(self, case: Case, reply: Any) -> Any:  # Any: one reply or all, and what the function gives
        if self._blocking:
            return await asyncio.to_thread(self._function, case, reply)
        answer = self._function(case, reply)
        return await answer if inspect.isawaitable(answer) else answer

    def _to_score(self, answer: Any) -> Score:  # Any: see ScoreFunction
        if isinstance(answer, Score):
            return answer
        if answer is None:
            return Score(name=self.name, value=None, reason="The scorer does not apply.")
        if hasattr(answer, "item") and not isinstance(answer, int | float):
            answer = answer.item()  # numpy's bool and float32
        if isinstance(answer, bool):
            return Score(name=self.name, value=float(answer), reason=f"{self.name} returned {answer}.")
        if isinstance(answer, int | float):
            if not 0 <= answer <= 1:
                raise self._wrong(answer)
            return Score(name=self.name, value=float(answer))
        raise self._wrong(answer)

    def _wrong(self, answer: object) -> JudgeError:
        return JudgeError(
            f"The scorer {self.name!r} gave back {short_repr(answer)}. "
            "It must give True, False, a number from 0 to 1, a Score, or None when it does not apply.",
            kind="bad_score",
        )


@overload
def scorer(function: ScoreFunction, /) -> FunctionScorer: ...
@overload
def scorer(
    *,
    name: str | None = None,
    threshold: float | None = None,
    blocking: bool = False,
    level: Level = "turn",
    version: str = "1",
) -> Callable[[Callable[..., Any]], FunctionScorer]: ...  # Any: see ScoreFunction
def scorer(
    function: ScoreFunction | None = None,
    /,
    *,
    name: str | None = None,
    threshold: float | None = None,
    blocking: bool = False,
    level: Level = "turn",
    version: str = "1",
) -> FunctionScorer | Callable[[Callable[..., Any]], FunctionScorer]:  # Any: see ScoreFunction
    """Make a function of (case, reply) a scorer, known under its name; with or without arguments.

    The function may be async. A plain one runs on the event loop; `blocking=True` runs it in a thread, for a function
    that waits or computes for more than a millisecond. With `level="case"` it gets the case and all of its replies.
    """
    if threshold is not None and not 0 <= threshold <= 1:
        raise InputError(f"@scorer: threshold must be from 0 to 1, not {threshold!r}.")
    if level not in ("turn", "case"):
        raise InputError(f"@scorer: level must be 'turn' or 'case', not {level!r}.")

    def make(function: Callable[..., Any]) -> FunctionScorer:  # Any: see ScoreFunction
        if blocking and inspect.iscoroutinefunction(function):
            raise InputError(f"@scorer: {function.__name__} is async, so that blocking=True has no meaning for it.")
        _check_parameters(function, level)
        made = FunctionScorer(
            function,
            name=name or function.__name__,
            threshold=threshold,
            blocking=blocking,
            level=level,
            version=version,
        )
        _register(made, scorers)
        return made

    return make if function is None else make(function)


def _check_parameters(function: Callable[..., Any], level: Level) -> None:  # Any: see ScoreFunction
    """InputError when the function cannot be called as scorers are."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some that are written in C do not tell
        return
    try:
        signature.bind(None, None)
    except TypeError:
        name = getattr(function, "__name__", type(function).__name__)
        second = "replies" if level == "case" else "reply"
        taken = ", ".join(str(each.replace(annotation=each.empty)) for each in signature.parameters.values())
        raise InputError(
            f"@scorer: {name}({taken}) does not take a case and its {second}; write def {name}(case, {second})."
        ) from None


def plan_scorer(
    item: str | AnyScorer | Callable[..., Any],  # Any: see ScoreFunction
    *,
    name: str | None = None,
    settings: Mapping[str, Any] | None = None,  # Any: checked against the scorer's own fields
    weight: float = 1.0,
    threshold: float | None = None,
    critical: bool = False,
) -> PlannedScorer:
    """A place in a plan for a registered name with settings, a scorer object, or a function."""
    if isinstance(item, str):
        kind, built = item, scorers.build(kind_for(item, settings or {}), settings or {})
    elif isinstance(item, FunctionScorer):
        kind, built = item.name, cast("AnyScorer", item)
    elif _is_scorer(item):
        kind, built = _name_of(item), cast("AnyScorer", item)
        settings = _settings_of(item)
    elif callable(item) and not isinstance(item, type):
        return plan_scorer(scorer(item), name=name, weight=weight, threshold=threshold, critical=critical)
    else:
        raise InputError(f"{short_repr(item)} is not a scorer: give a name, a function of (case, reply), or an object.")
    if threshold is None:
        threshold = getattr(built, "threshold", None)
    return PlannedScorer(
        name=name or kind,
        scorer=built,
        kind=kind,
        weight=weight,
        threshold=threshold,
        critical=critical,
        settings=settings or {},
    )


def _register(made: FunctionScorer, registry: Registry[AnyScorer]) -> None:
    if made.name in registry and made.name not in _functions:
        raise InputError(f"There already is a scorer {made.name!r}. Give yours another one: @scorer(name='…').")
    # The registry makes scorers from dataclasses; this one has no settings and makes the function's scorer.
    kind = make_dataclass(made.name, [], namespace={"__new__": lambda _cls: made, "__doc__": made.__doc__})
    registry.register(made.name)(kind)
    _functions.add(made.name)


def _is_scorer(item: object) -> bool:
    return not isinstance(item, type) and any(hasattr(item, each) for each in ("score", "score_batch", "score_case"))


def _name_of(item: object) -> str:
    for name in scorers:
        if scorers.find(name) is type(item):
            return name
    return type(item).__name__.lower()


def _settings_of(item: object) -> dict[str, Any]:  # Any: a scorer's settings may be of any type
    if not is_dataclass(item):
        return {}
    return {each.name: getattr(item, each.name) for each in fields(item) if each.init}
