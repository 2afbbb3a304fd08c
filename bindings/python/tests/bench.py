"""The figures of the binding beside other locks for Python: python tests/bench.py [SECONDS]

A pair is an acquisition and its release while no other process wants the lock. A hand-off is the time from a release in
one process to the grant in another that waits. Needs filelock, portalocker and redis, and a redis-server.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


@contextlib.contextmanager
def redis_server(dir: str):
    from conftest import answers, free_port, running

    port = free_port()
    with running(["redis-server", "--port", str(port), "--save", "", "--dir", dir], lambda: answers(port)):
        yield port


def locks(dir: str, port: int | None):
    """What makes a lock of each kind, in the process that uses it."""

    def tenure_files():
        import tenure

        opened = tenure.open(f"file:{dir}/tenure")
        return lambda: opened.mutex("x").lock()

    def tenure_filelock():
        from tenure.filelock import FileLock

        lock = FileLock(f"{dir}/tenure.lock")
        return lambda: lock

    def filelock():
        from filelock import FileLock

        lock = FileLock(f"{dir}/filelock.lock")
        return lambda: lock

    def portalocker():
        from portalocker import Lock

        return lambda: Lock(f"{dir}/portalocker.lock", timeout=60)

    yield "tenure, embedded store", tenure_files
    yield "tenure.filelock", tenure_filelock
    yield "filelock", filelock
    yield "portalocker.Lock", portalocker
    if port is None:
        return

    def tenure_redis():
        import tenure

        opened = tenure.open(f"redis://127.0.0.1:{port}")
        return lambda: opened.mutex("x").lock()

    def redis_py():
        from redis import Redis

        client = Redis(port=port)
        return lambda: client.lock("y", timeout=30)

    yield "tenure, Redis", tenure_redis
    yield "redis-py Lock", redis_py


def pairs(make, seconds: float) -> float:
    """The median time of a pair, in microseconds."""
    lock = make()
    times = []
    until = time.monotonic() + seconds
    while time.monotonic() < until or len(times) < 10:
        began = time.perf_counter()
        with lock():
            pass
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def turns(make, path: str, until: float, results) -> None:
    """Takes turns with the others, and notes how long after their release it was granted."""
    lock = make()
    own, waits = str(os.getpid()), []
    while time.monotonic() < until:
        with lock():
            granted = time.monotonic()
            who, _, at = Path(path).read_text().partition(" ")
            if at and who != own:
                waits.append(granted - float(at))
            # Long enough that the others wait.
            time.sleep(0.002)
            Path(path).write_text(f"{own} {time.monotonic()}")
    results.put(waits)


def handoffs(make, dir: str, seconds: float) -> tuple[float, float, int]:
    """The median and the greatest time of a hand-off, in milliseconds, and their number."""
    context = multiprocessing.get_context("fork")
    path, results = f"{dir}/turn", context.Queue()
    Path(path).write_text("")
    until = time.monotonic() + seconds
    processes = [context.Process(target=turns, args=(make, path, until, results)) for _ in range(2)]
    for process in processes:
        process.start()
    waits = [wait for _ in processes for wait in results.get()]
    for process in processes:
        process.join()
    if not waits:
        return float("nan"), float("nan"), 0
    return statistics.median(waits) * 1e3, max(waits) * 1e3, len(waits)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    figures = {}
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores")
    print(f"{'':24} {'pair':>10} {'hand-off':>12} {'longest':>12} {'hand-offs':>10}")
    with tempfile.TemporaryDirectory() as dir, contextlib.ExitStack() as servers:
        try:
            port = servers.enter_context(redis_server(dir))
        except FileNotFoundError:
            port = None
        for name, make in locks(dir, port):
            try:
                pair, (median, longest, number) = pairs(make, seconds), handoffs(make, dir, seconds)
            except ImportError as missing:
                print(f"{name:24} not measured: {missing}")
                continue
            print(f"{name:24} {pair:7.0f} us {median:9.2f} ms {longest:9.1f} ms {number:10}", flush=True)
            figures[name] = {"pair_us": pair, "handoff_ms": median, "longest_ms": longest, "handoffs": number}
    if "--json" in sys.argv:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
