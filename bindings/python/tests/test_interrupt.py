"""Signals that end a wait."""

import signal
import time

import pytest
from conftest import eventually

WAITS = """
    import sys, time
    import tenure

    locks = tenure.open(sys.argv[1])
    print("ready")
    try:
        with locks.mutex("a", fair=True).lock():
            print("acquired")
    except KeyboardInterrupt:
        print("interrupted", time.monotonic())
    print(sys.stdin.readline())
"""


@pytest.fixture(params=["files", "redis"])
def url(request):
    return request.getfixturevalue("files" if request.param == "files" else "redis_url")


def test_an_interrupt_ends_a_wait_and_leaves_no_place(program, url):
    import tenure

    with tenure.open(url) as locks:
        with locks.mutex("a").lock():
            waiter = program(WAITS, url)
            assert waiter.line() == "ready"
            eventually(lambda: locks.inspect("a").waiters)
            sent = time.monotonic()
            waiter.process.send_signal(signal.SIGINT)
            word, at = waiter.line().split()
            assert word == "interrupted"
            # Within 50 ms on a quiet machine. No test depends on speed.
            print(f"interrupted after {(float(at) - sent) * 1000:.1f} ms")
            # The process lives on, and waits no longer.
            eventually(lambda: not locks.inspect("a").waiters)
            assert waiter.process.poll() is None
            waiter.say("end")
            assert waiter.end()[0] == 0
        with locks.mutex("a").lock(wait=30):
            pass


def test_an_interrupt_that_ends_the_program_leaves_no_place(program, url):
    import tenure

    with tenure.open(url) as locks:
        with locks.mutex("a").lock():
            waiter = program("import sys, tenure; tenure.open(sys.argv[1]).mutex('a', fair=True).lock().acquire()", url)
            eventually(lambda: locks.inspect("a").waiters)
            waiter.process.send_signal(signal.SIGINT)
            code, _, error = waiter.end()
            assert code == -signal.SIGINT and "KeyboardInterrupt" in error
            # As it ended, it waited until its place was given up.
            assert not locks.inspect("a").waiters


def test_a_handler_of_a_signal_may_raise_anything(program, files):
    waiter = program(
        """
        import os, signal, sys, threading
        import tenure

        class Ended(Exception):
            pass

        def end(*_):
            raise Ended

        signal.signal(signal.SIGTERM, end)
        mutex = tenure.open(sys.argv[1]).mutex("a")
        with mutex.lock():
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
            try:
                mutex.lock().acquire()
            except Ended:
                print("ended")
        with mutex.lock(wait=0):
            print("free")
        """,
        files,
    )
    assert (waiter.line(), waiter.line()) == ("ended", "free")
    assert waiter.end()[0] == 0


def test_handlers_that_return_do_not_end_a_wait(program, files):
    waiter = program(
        """
        import signal, sys
        import tenure

        heard = []
        signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        mutex = tenure.open(sys.argv[1]).mutex("a")
        with mutex.lock():
            try:
                mutex.lock(wait=0.5).acquire()
            except tenure.Busy:
                print("busy", len(heard) > 3)
        """,
        files,
    )
    assert waiter.line() == "busy True"


def test_a_killed_holder_is_followed_at_once(program, files):
    import tenure

    holder = program(
        """
        import sys, tenure
        with tenure.open(sys.argv[1]).mutex("a").lock() as hold:
            print("held")
            sys.stdin.readline()
        """,
        files,
    )
    assert holder.line() == "held"
    with tenure.open(files) as locks:
        killed = time.monotonic()
        holder.process.kill()
        with locks.mutex("a").lock(wait=30):
            # Within 100 ms on a quiet machine.
            print(f"acquired {(time.monotonic() - killed) * 1000:.1f} ms after the kill")
