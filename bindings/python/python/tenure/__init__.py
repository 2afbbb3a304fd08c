"""A distributed lock for Python programs.

::

    import tenure

    locks = tenure.open("redis://localhost")

    with locks.mutex("order:42").lock(wait=5) as hold:
        print("paying under token", hold.check())

While a hold exists, tenure renews its lease in the background. ``hold.check()`` raises ``tenure.Lost`` as soon as you may
not count on it any more.
"""

from __future__ import annotations

from ._decorator import locked
from ._errors import Busy, Error, Full, InDoubt, Lost, Misconfigured, Unreachable, UsageError
from ._locks import (
    All,
    Election,
    Latch,
    Mutex,
    Reentrant,
    RwLock,
    Semaphore,
    Tenure,
    default,
    memory,
    open,
    open_async,
    set_default,
)
from ._tenure import Acquisition, Clock, Contender, Hold, Leader, Snapshot

__all__ = [
    "Acquisition",
    "All",
    "Busy",
    "Clock",
    "Contender",
    "Election",
    "Error",
    "Full",
    "Hold",
    "InDoubt",
    "Latch",
    "Leader",
    "Lost",
    "Misconfigured",
    "Mutex",
    "Reentrant",
    "RwLock",
    "Semaphore",
    "Snapshot",
    "Tenure",
    "Unreachable",
    "UsageError",
    "default",
    "locked",
    "memory",
    "open",
    "open_async",
    "set_default",
]
