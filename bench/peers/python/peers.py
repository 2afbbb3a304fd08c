"""redis-py's asyncio Lock and filelock, as scripts/bench-peers runs them.

bench/peers/README.md has the protocol.
"""

import asyncio
import json
import math
import os
import sys
import threading
import time

WORDS = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)
TTL = (int(WORDS["ttl"]) or 30_000) / 1000


def number(key):
    return int(WORDS[key])


def name(task):
    return WORDS["prefix"] + str(task)


def ready():
    print("ready", flush=True)
    sys.stdin.readline()


def tell(result):
    print(json.dumps(result), flush=True)
    sys.stdin.read()
    os._exit(0)


class Crowd:
    """What the tasks of one process wrote down."""

    def __init__(self, tasks):
        self.grants = [0] * tasks
        self.waiting = [None] * tasks
        self.waits = {}
        self.longest = 0.0
        self.errors = 0
        self.holds = []

    def waited(self, wait):
        bucket = int(math.log(max(wait * 1e9, 1)) / math.log(1.1))
        self.waits[bucket] = self.waits.get(bucket, 0) + 1
        self.longest = max(self.longest, wait)

    def result(self, seconds):
        late = [time.monotonic() - since for since in self.waiting if since is not None]
        return {
            "grants": self.grants,
            "waits": self.waits,
            "longest_us": int(1e6 * max([self.longest, *late])),
            "errors": self.errors,
            "hung": len(late),
            "seconds": seconds,
        }


# redis-py: one client with its pool, a lock for each task; it looks every 0.1 s, as by default.


async def redis_main():
    import redis.asyncio

    # Its pool has 100 by default, and one more is an error instead of a wait.
    client = redis.asyncio.Redis.from_url(WORDS["url"], max_connections=number("tasks") + 1)

    def lock(name):
        return client.lock(name, timeout=TTL)

    async def pairs(length):
        done, errors, start = 0, 0, time.monotonic()

        async def pair(task):
            nonlocal done, errors
            mine = lock(name(task))
            while time.monotonic() - start < length:
                try:
                    await mine.acquire()
                    await mine.release()
                    done += 1
                except Exception:
                    errors += 1

        await asyncio.gather(*map(pair, range(number("tasks"))))
        return {"pairs": done, "errors": errors, "seconds": time.monotonic() - start}

    async def hot(task, crowd, start, length, section):
        mine = lock(name(0))
        while time.monotonic() - start < length:
            asked = crowd.waiting[task] = time.monotonic()
            while True:
                try:
                    await mine.acquire()
                    granted = time.monotonic()
                    while time.monotonic() - granted < section:
                        pass
                    crowd.waited(granted - asked)
                    crowd.grants[task] += granted - start < length
                    await mine.release()
                    break
                except Exception:
                    crowd.errors += 1
                    if time.monotonic() - start >= length:
                        break
            crowd.waiting[task] = None

    async def handoff(crowd, start, length):
        mine, turn = lock(name(0)), 0
        while time.monotonic() - start < length:
            await mine.acquire()
            granted = time.monotonic_ns()
            await asyncio.sleep(0.002 + turn * 37 % 100 / 1e5)
            crowd.holds.append([granted, time.monotonic_ns()])
            await mine.release()
            turn += 1
            await asyncio.sleep(0.001)

    work, length = WORDS["work"], number("millis") / 1e3
    if work == "pair":
        await pairs(number("warm") / 1e3)
        ready()
        tell(await pairs(length))
    if work == "hold":
        ready()
        held = 0
        for task in range(number("tasks")):
            held += await lock(name(task)).acquire()
        tell({"held": held, "errors": False})
    async with lock(name(0)):
        pass
    ready()
    tasks = number("tasks") if work == "hot" else 1
    crowd, start = Crowd(tasks), time.monotonic()
    if work == "hot":
        section = number("section") / 1e6
        running = [hot(task, crowd, start, length, section) for task in range(tasks)]
    else:
        running = [handoff(crowd, start, length)]
    running = [asyncio.create_task(each) for each in running]
    _, late = await asyncio.wait(running, timeout=length + number("grace") / 1e3)
    if work == "hot":
        tell(crowd.result(length))
    tell({"holds": crowd.holds, "hung": len(late)})


# filelock: blocks, so each task is a thread with a lock object of its own.


def file_main():
    import filelock

    def lock(name):
        return filelock.FileLock(os.path.join(WORDS["url"], name))

    def run(work, tasks, wait):
        threads = [threading.Thread(target=work, args=(t,), daemon=True) for t in range(tasks)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + wait
        for thread in threads:
            thread.join(max(0, until - time.monotonic()))
        return sum(thread.is_alive() for thread in threads)

    def pairs(length):
        done, start = [0] * number("tasks"), time.monotonic()

        def pair(task):
            mine = lock(name(task))
            while time.monotonic() - start < length:
                with mine:
                    pass
                done[task] += 1

        run(pair, number("tasks"), length + 10)
        return {"pairs": sum(done), "errors": 0, "seconds": time.monotonic() - start}

    work, length, grace = WORDS["work"], number("millis") / 1e3, number("grace") / 1e3
    if work == "pair":
        pairs(number("warm") / 1e3)
        ready()
        tell(pairs(length))
    if work == "hold":
        ready()
        kept = [lock(name(task)) for task in range(number("tasks"))]
        for each in kept:
            each.acquire()
        tell({"held": len(kept), "errors": False})
    with lock(name(0)):
        pass
    ready()
    tasks = number("tasks") if work == "hot" else 1
    crowd, guard, start = Crowd(tasks), threading.Lock(), time.monotonic()
    section = number("section") / 1e6

    def hot(task):
        mine = lock(name(0))
        while time.monotonic() - start < length:
            asked = crowd.waiting[task] = time.monotonic()
            with mine:
                granted = time.monotonic()
                while time.monotonic() - granted < section:
                    pass
            with guard:
                crowd.waited(granted - asked)
            crowd.grants[task] += granted - start < length
            crowd.waiting[task] = None

    def handoff(_):
        mine, turn = lock(name(0)), 0
        while time.monotonic() - start < length:
            with mine:
                granted = time.monotonic_ns()
                time.sleep(0.002 + turn * 37 % 100 / 1e5)
                crowd.holds.append([granted, time.monotonic_ns()])
            turn += 1
            time.sleep(0.001)

    late = run(hot if work == "hot" else handoff, tasks, length + grace)
    tell(crowd.result(length) if work == "hot" else {"holds": crowd.holds, "hung": late})


if __name__ == "__main__":
    if WORDS["who"] == "filelock":
        file_main()
    else:
        asyncio.run(redis_main())
