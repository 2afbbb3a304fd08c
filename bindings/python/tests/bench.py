"""The figures of the binding beside other locks for Python: python tests/bench.py [SECONDS]

A pair is an acquisition and its release while no other process wants the lock. A hand-off is the time from a release in
one process to the grant in another that waits. The locks are measured in turns. Needs filelock, portalocker and redis,
and a redis-server.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 3
#: Seconds; locks that look again at intervals do so every 50 to 250 ms.
LONGEST_HOLD = 0.1

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


def pairs(make, seconds: float) -> list[float]:
    """The times of pairs, in seconds."""
    lock = make()
    times = []
    until = time.monotonic() + seconds
    while time.monotonic() < until or len(times) < 10:
        began = time.perf_counter()
        with lock():
            pass
        times.append(time.perf_counter() - began)
    return times


def alternate(make, released, ends, until: float, results) -> None:
    """Waits for the lock whenever the other process tells it to, and notes how long after the release it was granted."""
    other, unused = ends
    unused.close()
    lock, times = make(), []
    with contextlib.suppress(EOFError, BrokenPipeError):
        while other.recv() and time.monotonic() < until:
            with lock():
                times.append(time.monotonic() - released.value)
                # The other one is to wait, for as long as its interval of looking again may be.
                other.send(True)
                time.sleep(random.uniform(0.002, LONGEST_HOLD))
                released.value = time.monotonic()
    other.close()
    results.put(times)


def handoffs(make, seconds: float) -> list[float]:
    """The times of hand-offs, in seconds."""
    context = multiprocessing.get_context("fork")
    released, results = context.Value("d", 0.0, lock=False), context.Queue()
    ends, until = context.Pipe(), time.monotonic() + seconds
    own = [ends, ends[::-1]]
    processes = [context.Process(target=alternate, args=(make, released, pair, until, results)) for pair in own]
    for process in processes:
        process.start()
    # The first one begins. What it is granted is no hand-off.
    ends[1].send(True)
    for end in ends:
        end.close()
    times = [results.get() for _ in processes]
    for process in processes:
        process.join()
    first = max(times, key=lambda times: times[0] if times else 0.0)
    del first[:1]
    return [time for all_times in times for time in all_times]


def figure(times: list[float], scale: float) -> tuple[float, float]:
    """The median, and what one in a hundred exceeds."""
    ordered = sorted(times)
    return statistics.median(ordered) * scale, ordered[len(ordered) * 99 // 100] * scale


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    measured: dict[str, tuple[list[float], list[float]]] = {}
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as dir, contextlib.ExitStack() as servers:
        try:
            port = servers.enter_context(redis_server(dir))
        except FileNotFoundError:
            port = None
        for _ in range(ROUNDS):
            for name, make in locks(dir, port):
                try:
                    times = pairs(make, seconds / 10), handoffs(make, seconds)
                except ImportError as missing:
                    print(f"{name:24} not measured: {missing}")
                    continue
                so_far = measured.setdefault(name, ([], []))
                for all_times, more in zip(so_far, times):
                    all_times += more
    print(f"{'':24} {'pair':>10} {'p99':>10} {'hand-off':>12} {'p99':>12} {'hand-offs':>10}")
    figures = {}
    for name, (pair_times, handoff_times) in measured.items():
        (pair, pair_99), (handoff, handoff_99) = figure(pair_times, 1e6), figure(handoff_times, 1e3)
        number = len(handoff_times)
        print(f"{name:24} {pair:7.0f} us {pair_99:7.0f} us {handoff:9.2f} ms {handoff_99:9.2f} ms {number:10}")
        figures[name] = {"pair_us": pair, "pair_99_us": pair_99, "handoff_ms": handoff, "handoff_99_ms": handoff_99}
    if "--json" in sys.argv:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
