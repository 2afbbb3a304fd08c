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


def test_an_exit_handler_from_before_the_import_is_refused_the_event_loop(program, files):
    run = program(
        """
        import asyncio, atexit, faulthandler, sys

        def late():
            with locks.mutex("a").lock(wait=10) as hold:
                print("blocking", hold.check() > 0)

            async def acquire():
                async with locks.mutex("a").lock(wait=10):
                    print("acquired")

            try:
                asyncio.run(acquire())
            except tenure.UsageError as error:
                print("refused", "import tenure" in error.help)

        atexit.register(late)
        import tenure

        faulthandler.dump_traceback_later(30, exit=True)
        locks = tenure.open(sys.argv[1])
        """,
        files,
    )
    code, out, error = run.end(60)
    assert (code, out.splitlines()) == (0, ["blocking True", "refused True"]), error


def test_a_program_ends_in_time_however_many_stores_do_not_answer(program, redis_url):
    run = program(
        """
        import os, signal, socket, sys, threading, time, warnings
        import tenure

        warnings.simplefilter("ignore")
        # A proxy, which stops to forward.
        target, forwards = sys.argv[1].rsplit("/", 1)[1].split(":"), True

        def pump(source, sink):
            while data := source.recv(65536):
                if forwards:
                    sink.sendall(data)

        def serve(listener):
            while True:
                near, _ = listener.accept()
                far = socket.create_connection((target[0], int(target[1])))
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

        listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=serve, args=(listener,), daemon=True).start()
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}"
        stores = [tenure.open(url) for _ in range(8)]
        holds = [store.mutex(f"ends-{number}").lock().acquire() for number, store in enumerate(stores)]
        forwards = False
        holds.clear()
        print(time.monotonic())
        """,
        redis_url,
    )
    import time

    began = float(run.line())
    assert run.end(60)[0] == 0
    # One deadline of a second for all of them; one each would be eight.
    assert time.monotonic() - began < 6


def test_a_slow_handler_does_not_hold_up_asyncio(program, files):
    run = program(
        """
        import asyncio, faulthandler, logging, sys, threading
        import tenure

        faulthandler.dump_traceback_later(60, exit=True)
        inside, done = threading.Event(), threading.Event()

        class Slow(logging.Handler):
            def emit(self, record):
                inside.set()
                done.wait()

        logger = logging.getLogger("tenure")
        logger.addHandler(Slow())
        logger.setLevel(5)
        logger.propagate = False
        locks = tenure.open(sys.argv[1])

        async def acquire():
            async with locks.mutex("a").lock() as hold:
                hold.check()

        asyncio.run(acquire())
        assert inside.wait(30)
        asyncio.run(acquire())
        done.set()
        print("done")
        """,
        files,
    )
    code, out, error = run.end(90)
    assert (code, out) == (0, "done\n"), error


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
