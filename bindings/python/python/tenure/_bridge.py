"""What connects native calls with asyncio."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import weakref
from collections.abc import Awaitable, Coroutine
from typing import Any, Literal, TypeVar

from . import _tenure

T = TypeVar("T")

_keys = itertools.count(1)
#: The loop and the future of each call that is under way.
_pending: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Future[Any]]] = {}
#: The stores that wait for their releases when the program ends.
stores: weakref.WeakSet[_tenure.Store] = weakref.WeakSet()


async def run(call: _tenure.Call[T]) -> T:
    """Makes a native call, and waits for its outcome. If the task is cancelled, what it acquired is taken back."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_tenure.Delivered[T]] = loop.create_future()
    key = next(_keys)
    _pending[key] = loop, future
    try:
        call.begin(key)
        outcome = await future
    except BaseException:
        _pending.pop(key, None)
        call.cancel()
        if future.done() and not future.cancelled():
            # It came while the task was being cancelled.
            future.result().discard()
        raise
    return outcome.take()


def deliver(outcomes: list[tuple[int, _tenure.Delivered[Any]]]) -> None:
    """Hands outcomes to the event loops that wait for them. A native thread calls this."""
    for key, outcome in outcomes:
        waits = _pending.pop(key, None)
        try:
            if waits is not None:
                loop, future = waits
                loop.call_soon_threadsafe(_resolve, future, outcome)
                continue
        except RuntimeError:
            # The loop is closed.
            pass
        outcome.discard()


def _resolve(future: asyncio.Future[Any], outcome: _tenure.Delivered[Any]) -> None:
    if future.done():
        outcome.discard()
    else:
        future.set_result(outcome)


async def enter(acquisition: _tenure.Acquisition) -> _tenure.Hold:
    """Begins an ``async with`` block."""
    acquisition._begin()
    hold = None
    try:
        hold = await run(acquisition.acquiring())
    finally:
        acquisition._entered(hold)
    return hold


async def leave(hold: _tenure.Hold | None, error: BaseException | None) -> Literal[False]:
    """Ends an ``async with`` block."""
    if hold is None:
        return False
    try:
        releasing = hold.releasing()
    except Exception as refusal:
        # Released inside the block; or a fork, in whose child nothing is held.
        if error is None and getattr(refusal, "reason", None) == "forked":
            raise
        return False
    try:
        await run(releasing)
    except Exception as failure:
        hold._after_block(failure, error is not None)
    return False


async def itself(hold: _tenure.Hold) -> _tenure.Hold:
    return hold


async def run_while_held(hold: _tenure.Hold, work: Awaitable[T]) -> T:
    """Awaits ``work`` for as long as the hold lasts. It does not begin unless the hold is held."""
    lost = task = None
    try:
        hold.check()
        lost = asyncio.ensure_future(hold.wait_lost_async())
        task = asyncio.ensure_future(work)
        await asyncio.wait((task, lost), return_when=asyncio.FIRST_COMPLETED)
        if not task.done() and not lost.result():
            # The work released the hold.
            await asyncio.wait((task,))
        if task.done():
            result = task.result()
            if hold.lost:
                hold.check()
            return result
    finally:
        if lost is not None:
            lost.cancel()
        if task is None:
            _drop(work)
        else:
            await _ended(task)
    hold.check()
    raise AssertionError("a lost hold was found held")


async def _ended(task: asyncio.Future[Any]) -> None:
    """Cancels a task that is not done, and waits for its end, however often that is cancelled."""
    again = None
    while not task.done():
        # What it answers to the cancellation no longer matters.
        task.cancel()
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as cancelled:
            again = cancelled
    if again is not None:
        raise again


def _drop(work: Awaitable[Any]) -> None:
    """Ends work that is not begun."""
    if isinstance(work, asyncio.Future):
        work.cancel()
    elif isinstance(work, Coroutine):
        work.close()


@atexit.register
def _finish() -> None:
    _tenure._finish(list(stores))
    _tenure._ending()


def _after_fork() -> None:
    _tenure._forked()
    _pending.clear()


os.register_at_fork(
    before=_tenure._forking, after_in_parent=_tenure._has_forked, after_in_child=_after_fork
)
