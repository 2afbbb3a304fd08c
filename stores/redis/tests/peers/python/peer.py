"""redis-py's Lock, as its users call it. ../README.md has the protocol."""

import sys

import redis
from redis.exceptions import LockError


def main():
    _, port, ttl, key = sys.argv[1:5]
    client = redis.Redis(port=int(port))

    def lock():
        return client.lock(key, timeout=int(ttl) / 1000)

    held = None
    for line in sys.stdin:
        match line.split():
            case ["count", turns, path]:
                for _ in range(int(turns)):
                    with lock():
                        with open(path) as file:
                            number = int(file.read())
                        with open(path, "w") as file:
                            file.write(str(number + 1))
                answer = "done"
            case ["hold"]:
                held = lock()
                held.acquire()
                answer = "held"
            case ["release"]:
                try:
                    held.release()
                    answer = "released"
                except LockError:
                    answer = "lost"
        print(answer, flush=True)


try:
    main()
except Exception as error:
    print(f"error {error!r}", flush=True)
