"""Counts in a file under a lock: python3 hold.py LOCK FILE TURNS"""
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
        self.token = self.hear("acquired")["token_number"]

    def hear(self, event):
        """The next line about this event; the end of a hold raises."""
        for line in self.child.stdout:
            said = json.loads(line)
            if said["event"] == event:
                return said
            if said["event"] == "lost" or "exit_code" in said:
                raise NotHeld(said.get("message") or "the lock was lost")
        raise NotHeld("tenure hold has ended")

    def say(self, command):
        self.child.stdin.write(command + "\n")
        self.child.stdin.flush()

    def check(self):
        """Until when to count on the lock. This clock counts the time in which the machine sleeps."""
        sent = time.clock_gettime(time.CLOCK_BOOTTIME)
        self.say("check")
        checked = self.hear("checked")
        if not checked["held"]:
            raise NotHeld("the lock was lost")
        return sent + checked["valid_ms"] / 1000

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()  # releases the lock
        self.child.wait()
        self.child.stdout.close()


lock, path, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
for _ in range(turns):
    with Hold(lock, "--wait", "60s") as hold:
        with open(path) as file:
            count, seen = map(int, file.read().split())
        assert hold.token > seen, "an older holder must not write after a newer one"
        if time.clock_gettime(time.CLOCK_BOOTTIME) < hold.check():
            with open(path, "w") as file:
                file.write(f"{count + 1} {hold.token}\n")
