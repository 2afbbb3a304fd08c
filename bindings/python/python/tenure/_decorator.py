"""Functions that run only under their lock."""

from __future__ import annotations

import asyncio
import functools
import inspect
import string
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeVar, overload

from . import _locks, _tenure
from ._errors import Busy, UsageError

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
R = TypeVar("R")


class _Locks(Protocol):
    """What ``locked`` returns."""

    def __call__(self, function: Callable[P, R], /) -> Callable[P, R]: ...


class _Skips(Protocol):
    """What ``locked`` returns with ``on_busy="skip"``."""

    @overload
    def __call__(
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> Callable[P, Coroutine[Any, Any, R | None]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, R | None]: ...


@overload
def locked(
    name: str,
    *,
    wait: _locks.Length | None = None,
    on_busy: Literal["raise"] = "raise",
    tenure: _locks.Tenure | Callable[[], _locks.Tenure] | None = None,
    **settings: Unpack[_locks.Settings],
) -> _Locks: ...
@overload
def locked(
    name: str,
    *,
    wait: _locks.Length | None = None,
    on_busy: Literal["skip"],
    tenure: _locks.Tenure | Callable[[], _locks.Tenure] | None = None,
    **settings: Unpack[_locks.Settings],
) -> _Skips: ...
def locked(
    name: str,
    *,
    wait: _locks.Length | None = None,
    on_busy: Literal["raise", "skip"] = "raise",
    tenure: _locks.Tenure | Callable[[], _locks.Tenure] | None = None,
    **settings: Unpack[_locks.Settings],
) -> Any:
    """Runs a function, or an ``async`` one, only under the mutex ``name``.

    ``{id}`` in the name is the argument ``id`` of the call; ``{order.id}`` is an attribute of one. With
    ``on_busy="skip"``, a call returns ``None`` if another holder has the lock when ``wait`` is over.

    ``tenure`` is the tenure, or a function that returns it. Default: ``tenure.default()``.

    If the function has a parameter ``hold``, it receives the hold. A call raises ``Lost`` if the hold was lost before
    the function returned. An ``async`` function runs in a task of its own, which is cancelled then; a plain one calls
    ``hold.check()``.

    The whole work must be done when the function returns. So a generator is refused, and so is a plain function that
    returns a coroutine.
    """
    if on_busy not in ("raise", "skip"):
        raise UsageError(f"on_busy is {on_busy!r}", help='use "raise" or "skip"')
    _tenure._check_settings({**settings, "wait": wait})

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        _check_function(function)
        signature = inspect.signature(function)
        shown = _without_hold(signature, function)
        wants_hold = len(shown.parameters) < len(signature.parameters)
        _check_name(name, shown, function)

        def bind(args: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, inspect.BoundArguments]:
            bound = shown.bind(*args, **given)
            call = inspect.BoundArguments(signature, bound.arguments.copy())
            bound.apply_defaults()
            whole = name.format_map(bound.arguments)
            source = tenure() if callable(tenure) else tenure
            return (source or _locks.default()).mutex(whole, **settings).lock(wait), call

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def runs(*args: Any, **given: Any) -> Any:
                asked, call = bind(args, given)
                try:
                    hold = await asked
                except Busy:
                    if on_busy == "skip":
                        return None
                    raise
                async with hold:
                    if wants_hold:
                        call.arguments["hold"] = hold
                    return await hold.run_async(function(*call.args, **call.kwargs))

        else:

            @functools.wraps(function)
            def runs(*args: Any, **given: Any) -> Any:
                asked, call = bind(args, given)
                try:
                    hold = asked.acquire()
                except Busy:
                    if on_busy == "skip":
                        return None
                    raise
                with hold:
                    if wants_hold:
                        call.arguments["hold"] = hold
                    result = function(*call.args, **call.kwargs)
                    refuse_unfinished(result, function)
                    return result

        if wants_hold:
            runs.__signature__ = shown  # type: ignore[attr-defined]
        return runs

    return decorate


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)


def _check_function(function: Callable[..., Any]) -> None:
    """Refuses a function whose body does not run when it is called."""
    bodies = [function, getattr(function, "__func__", None), getattr(type(function), "__call__", None)]
    if any(inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body) for body in bodies):
        raise UsageError(
            f"{_name_of(function)} is a generator, whose body would run without the lock",
            help="use a with block of the lock inside it",
        )
    if not inspect.iscoroutinefunction(function) and any(map(inspect.iscoroutinefunction, bodies)):
        raise UsageError(
            f"{_name_of(function)} cannot be told from a plain function, but returns a coroutine",
            help="decorate an `async def` function",
        )


def refuse_unfinished(result: Any, function: Callable[..., Any]) -> None:
    """Refuses a result whose work is still to be done, which nothing would do under the lock."""
    # What contextlib.contextmanager returns has a generator.
    work = getattr(result, "gen", result)
    if isinstance(work, asyncio.Future):
        work.cancel()
    elif inspect.isgenerator(work) or inspect.iscoroutine(work):
        work.close()
    elif not (inspect.isasyncgen(work) or inspect.isawaitable(work)):
        return
    raise UsageError(
        f"{_name_of(function)} returned {type(result).__name__!r}, whose work would be done without the lock",
        help="decorate the `async def` function itself, or use a with block of the lock where the work is done",
    )


def _without_hold(signature: inspect.Signature, function: Callable[..., Any]) -> inspect.Signature:
    """The signature as callers see it."""
    hold = signature.parameters.get("hold")
    if hold is None:
        return signature
    if hold.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
        raise UsageError(
            f"the parameter `hold` of {_name_of(function)} cannot be given by its name",
            help="make it a plain parameter, without `*`, and not before `/`",
        )
    return signature.replace(parameters=[each for each in signature.parameters.values() if each.name != "hold"])


def _check_name(name: str, signature: inspect.Signature, function: Callable[..., Any]) -> None:
    """Finds a name that no call could have, where the function is defined."""
    for _text, field, _spec, _conversion in string.Formatter().parse(name):
        argument = None if field is None else field.split(".")[0].split("[")[0]
        if argument is None or argument in signature.parameters:
            continue
        raise UsageError(
            f"{name!r} names the argument {argument!r}, which {_name_of(function)} does not have",
            help="name one of its arguments, as in {id}",
        )
