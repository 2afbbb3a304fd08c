"""What tenure logs, and what the module refuses."""

import logging
import sys
import textwrap

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
