"""kazoo's locks, as their users call them. ../README.md has the protocol."""

import sys

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.recipe.lock import Lock, ReadLock, WriteLock


class CuratorLock(Lock):
    """Writes and heeds the nodes of Curator's InterProcessMutex."""

    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["lock-"]


LOCKS = {
    "lock": Lock,
    "read": ReadLock,
    "write": WriteLock,
    "patterns": lambda client, path, label: Lock(client, path, label, extra_lock_patterns=["lock-"]),
    "curator": CuratorLock,
}


def main():
    _, kind, address, session, path = sys.argv
    client = KazooClient(hosts=address, timeout=int(session) / 1000)
    client.start()

    def lock():
        return LOCKS[kind](client, path, "python")

    held = None
    for line in sys.stdin:
        match line.split():
            case ["count", turns, file_path]:
                for _ in range(int(turns)):
                    with lock():
                        with open(file_path) as file:
                            number = int(file.read())
                        with open(file_path, "w") as file:
                            file.write(str(number + 1))
                answer = "done"
            case ["hold"]:
                held = lock()
                held.acquire()
                _, stat = client.get(f"{held.path}/{held.node}")
                answer = f"held {stat.czxid}"
            case ["release"]:
                try:
                    client.get(f"{held.path}/{held.node}")
                    answer = "released"
                except NoNodeError:
                    answer = "lost"
                # It says the same in both cases.
                held.release()
        print(answer, flush=True)


try:
    main()
except Exception as error:
    print(f"error {error!r}", flush=True)
