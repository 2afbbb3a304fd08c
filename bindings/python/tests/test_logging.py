"""What tenure logs, and what the module refuses."""

import logging

import pytest
from conftest import eventually

import tenure


def test_events_reach_the_logger_of_python(caplog, redis_url):
    caplog.set_level(logging.DEBUG, logger="tenure")
    with tenure.open(redis_url) as locks:
        # A short ttl is warned of.
        with locks.mutex("logged", ttl=0.05).lock():
            pass
    warned = eventually(lambda: [each for each in caplog.records if each.levelno == logging.WARNING])
    assert warned[0].name == "tenure" and "logged" in warned[0].getMessage()


def test_levels_that_are_not_wanted_are_not_logged(caplog):
    caplog.set_level(logging.ERROR, logger="tenure")
    with tenure.memory().mutex("quiet", ttl=0.05).lock():
        pass
    caplog.set_level(logging.WARNING, logger="tenure")
    with tenure.memory().mutex("loud", ttl=0.05).lock():
        pass
    eventually(lambda: "loud" in caplog.text)
    assert "quiet" not in caplog.text


def test_a_subinterpreter_is_refused(program):
    run = program(
        """
        import tenure
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        id = interpreters.create()
        try:
            failed = interpreters.run_string(id, "import tenure")
        except Exception as error:
            failed = error
        text = getattr(failed, "formatted", failed)
        print("subinterpreter" in str(text), str(text).replace(chr(10), " "))
        """
    )
    assert run.line().startswith("True")


def test_a_program_that_ends_while_it_holds_ends(program, files):
    run = program(
        """
        import sys, threading, tenure
        locks = tenure.open(sys.argv[1])
        hold = locks.mutex("a").lock().acquire()
        threading.Thread(target=lambda: locks.mutex("a").lock().acquire(), daemon=True).start()
        import warnings; warnings.simplefilter("ignore")
        """,
        files,
    )
    assert run.end(30)[0] == 0
    with tenure.open(files) as locks, locks.mutex("a").lock(wait=30):
        pass


ENDS = """
import asyncio, logging, os, sys, threading, time
import tenure

# Everything is logged, so that the thread that logs is inside Python when it ends.
logging.basicConfig(stream=open(os.devnull, "w"), level=5)
locks = tenure.open(sys.argv[1])
hold = locks.mutex("a").lock().acquire()


def wait():
    locks.mutex("a").lock().acquire()


def spin():
    while True:
        try:
            locks.mutex("b", ttl=0.05).lock(wait=0.001).acquire().release()
        except tenure.Error:
            pass


async def tasks():
    for _ in range(20):
        asyncio.ensure_future(locks.mutex("a").lock().__aenter__())
    await asyncio.sleep(0.01)


for work in (wait, wait, hold.wait_lost, spin, spin, spin):
    threading.Thread(target=work, daemon=True).start()
asyncio.run(tasks())
"""


@pytest.mark.parametrize("turn", range(5))
def test_a_program_ends_while_its_threads_are_busy(program, files, turn):
    code, _, error = program(ENDS, files, env={"PYTHONWARNINGS": "ignore"}).end(60)
    assert code == 0, error
