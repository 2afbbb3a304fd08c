"""The stores of file locks: one for each directory in use, and a few that were used last."""

from __future__ import annotations

import os
import weakref
from collections import OrderedDict

from . import _locks

#: How many stay open though nothing of them is held. Each has files and a thread.
MOST = 8


class _Directory:
    """The directory of a store. Its number is not used again while it is open here."""

    def __init__(self, path: str) -> None:
        os.makedirs(path, mode=0o700, exist_ok=True)
        self._path = path
        self._open = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def is_there(self) -> bool:
        """Whether it has not been removed, or replaced by another one."""
        try:
            return os.path.samestat(os.stat(self._path), os.fstat(self._open))
        except FileNotFoundError:
            return False

    def __del__(self, close: object = os.close) -> None:
        if callable(close) and hasattr(self, "_open"):
            close(self._open)


#: The stores that something is held of or that are among the last, by directory.
_in_use: weakref.WeakValueDictionary[str, _locks.Tenure] = weakref.WeakValueDictionary()
_directories: weakref.WeakKeyDictionary[_locks.Tenure, _Directory] = weakref.WeakKeyDictionary()
_last: OrderedDict[str, _locks.Tenure] = OrderedDict()


def at(directory: str) -> _locks.Tenure:
    """The store of the locks in a directory, which is made. It stays open for as long as the caller keeps it."""
    path = os.path.join(directory, ".tenure")
    opened = _in_use.get(path)
    if opened is None or not _directories[opened].is_there():
        os.makedirs(directory, exist_ok=True)
        found = _Directory(path)
        opened = _locks._unopened(f"file:{path}")
        _directories[opened] = found
        _in_use[path] = opened
    _last[path] = opened
    try:
        _last.move_to_end(path)
        while len(_last) > MOST:
            _last.popitem(last=False)
    except KeyError:
        # Another thread removed it.
        pass
    return opened
