"""redis-py's Lock, as its users call it. ../README.md has the protocol."""

import os
import socket
import sys
import time

import redis
from redis.exceptions import LockError


def main():
    _, place, ttl, key = sys.argv[1:5]
    cluster, _, port = place.rpartition(":")
    if cluster:
        client = redis.RedisCluster(host="127.0.0.1", port=int(port))
    else:
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
            case ["write", turns, resource]:
                write(lock, int(turns), int(resource))
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


def write(lock, turns, port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        lines = connection.makefile("rw", newline="\n")

        def ask(*words):
            print(*words, file=lines, flush=True)
            return lines.readline().strip()

        holder = (os.getpid(), "-")
        for _ in range(turns):
            held = lock()
            try:
                held.acquire()
                number = ask("open", *holder)
                if number != "refused":
                    time.sleep(0.02)
                    ask("write", *holder, int(number) + 1)
                held.release()
            except redis.RedisError:
                # It was stopped, or its lock was lost: the next turn is another one.
                pass
            time.sleep(0.1)


try:
    main()
except Exception as error:
    print(f"error {error!r}", flush=True)
