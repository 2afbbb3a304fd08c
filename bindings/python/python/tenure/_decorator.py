"""Functions that run only under their lock."""

from __future__ import annotations

import functools
import inspect
import string
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from . import _locks
from ._errors import Busy, UsageError

if TYPE_CHECKING:
    from typing_extensions import Unpack

F = TypeVar("F", bound=Callable[..., Any])


def locked(
    name: str,
    *,
    wait: _locks.Length | None = None,
    on_busy: Literal["raise", "skip"] = "raise",
    tenure: _locks.Tenure | Callable[[], _locks.Tenure] | None = None,
    **settings: Unpack[_locks.Settings],
) -> Callable[[F], F]:
    """Runs a function, or an ``async`` one, only under the mutex ``name``.

    ``{id}`` in the name is the argument ``id`` of the call; ``{order.id}`` is an attribute of one. With
    ``on_busy="skip"``, a call returns ``None`` if another holder has the lock when ``wait`` is over.

    ``tenure`` is the tenure, or a function that returns it. Default: ``tenure.default()``.

    If the function has a parameter ``hold``, it receives the hold. A call raises ``Lost`` if the hold was lost before
    the function returned. An ``async`` function is cancelled then; a plain one calls ``hold.check()``.
    """
    if on_busy not in ("raise", "skip"):
        raise UsageError(f"on_busy is {on_busy!r}", help='use "raise" or "skip"')

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        wants_hold = "hold" in signature.parameters
        _check_name(name, signature, function)

        def acquisition(args: tuple[Any, ...], given: dict[str, Any]) -> Any:
            bound = signature.bind_partial(*args, **given)
            bound.apply_defaults()
            whole = name.format_map(bound.arguments)
            source = tenure() if callable(tenure) else tenure
            return (source or _locks.default()).mutex(whole, **settings).lock(wait)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def runs(*args: Any, **given: Any) -> Any:
                asked = acquisition(args, given)
                try:
                    hold = await asked
                except Busy:
                    if on_busy == "skip":
                        return None
                    raise
                async with hold:
                    if wants_hold:
                        given["hold"] = hold
                    return await hold.run_async(function(*args, **given))

        else:

            @functools.wraps(function)
            def runs(*args: Any, **given: Any) -> Any:
                asked = acquisition(args, given)
                try:
                    hold = asked.acquire()
                except Busy:
                    if on_busy == "skip":
                        return None
                    raise
                with hold:
                    if wants_hold:
                        given["hold"] = hold
                    return function(*args, **given)

        if wants_hold:
            shown = [each for each in signature.parameters.values() if each.name != "hold"]
            runs.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
        return runs  # type: ignore[return-value]

    return decorate


def _check_name(name: str, signature: inspect.Signature, function: Callable[..., Any]) -> None:
    """Finds a name that no call could have, where the function is defined."""
    for _text, field, _spec, _conversion in string.Formatter().parse(name):
        argument = None if field is None else field.split(".")[0].split("[")[0]
        if argument is None or argument in signature.parameters:
            continue
        raise UsageError(
            f"{name!r} names the argument {argument!r}, which {function.__qualname__} does not have",
            help="name one of its arguments, as in {id}",
        )
