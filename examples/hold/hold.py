"""Counts in a file under a lock: python3 hold.py LOCK FILE TURNS"""
import contextlib
import json
import os
import subprocess
import sys
import time


class NotHeld(Exception):
    """The lock was busy or lost, or tenure failed."""


class Hold:
    def __init__(self, name, *options):
        words = ["tenure", "hold", name, "--json", "--parent", str(os.getpid()), *options]
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.checks = 0
        self.token = self.hear("acquired")["token_number"]

    def hear(self, event, id=None):
        """The next line about this event; the end of a hold raises."""
        for line in self.child.stdout:
            said = json.loads(line)
            if said["event"] == event and said.get("id") == id:
                return said
            if said["event"] == "lost" or "exit_code" in said:
                raise NotHeld(said.get("message") or "the lock was lost")
        raise NotHeld("tenure hold has ended")

    def check(self):
        """Until when to count on the lock. An id finds the answer: that to an earlier check may be unread."""
        self.checks += 1
        sent = now()
        try:
            print(f"check {self.checks}", file=self.child.stdin, flush=True)
        except BrokenPipeError:
            pass  # what it said last is in the output
        checked = self.hear("checked", str(self.checks))
        if not checked["held"]:
            raise NotHeld("the lock was lost")
        return sent + checked["valid_ms"] / 1000

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.close()  # releases the lock
        self.child.wait()
        self.child.stdout.close()


def now():
    """On a clock that counts the time in which the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


lock, path, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
for _ in range(turns):
    with Hold(lock, "--wait", "60s") as hold:
        with open(path) as file:
            count, seen = map(int, file.read().split())
        assert hold.token > seen, "an older holder must not write after a newer one"
        until = hold.check()
        if now() < until:
            with open(path, "w") as file:
                file.write(f"{count + 1} {hold.token}\n")
