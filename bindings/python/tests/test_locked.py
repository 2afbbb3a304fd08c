"""Functions that run only under their lock, and the fixtures for pytest."""

import asyncio
import dataclasses

import pytest

import tenure


def test_a_function_runs_under_its_lock(tenure_memory):
    @tenure.locked("job:{id}")
    def work(id, hold=None):
        assert tenure_memory.mutex(f"job:{id}").inspect().holders[0].token == hold.check()
        return id

    assert work(7) == 7
    assert work(id=8) == 8
    assert not tenure_memory.inspect("job:7").is_held


def test_a_name_reads_attributes_and_defaults(tenure_memory):
    @dataclasses.dataclass
    class Order:
        id: int

    @tenure.locked("order:{order.id}:{step}")
    def work(order, step="pay", *, hold):
        return hold.name

    assert work(Order(7)) == "order:7:pay"
    assert work(Order(7), "ship") == "order:7:ship"
    with pytest.raises(tenure.UsageError, match="does not have"):
        tenure.locked("job:{idd}")(lambda id: None)
    with pytest.raises(tenure.UsageError):
        tenure.locked("job", on_busy="ignore")


def test_a_busy_call_raises_or_is_skipped(tenure_memory):
    @tenure.locked("job", wait=0)
    def raises():
        return 1

    @tenure.locked("job", wait=0.01, on_busy="skip")
    def skips():
        return 2

    with tenure_memory.mutex("job").lock():
        with pytest.raises(tenure.Busy):
            raises()
        assert skips() is None
    assert (raises(), skips()) == (1, 2)


def test_a_busy_lock_inside_the_function_is_not_skipped(tenure_memory):
    @tenure.locked("outer", wait=0, on_busy="skip")
    def work():
        with tenure_memory.mutex("inner").lock(wait=0):
            pass

    with tenure_memory.mutex("inner").lock():
        with pytest.raises(tenure.Busy) as busy:
            work()
    assert busy.value.lock == "inner"


def test_async_functions_are_locked_and_cancelled_when_the_lock_is_lost(tenure_memory, tenure_clock):
    ended = []

    @tenure.locked("job:{id}", wait=0, on_busy="skip", max_hold=10)
    async def work(id, hold):
        if id == 1:
            tenure_clock.advance(11)
            try:
                await asyncio.sleep(600)
            finally:
                ended.append(id)
        return hold.check()

    async def all_of_it():
        assert await work(2) > 0
        async with tenure_memory.mutex("job:2").lock():
            assert await work(2) is None
        with pytest.raises(tenure.Lost):
            await work(1)

    asyncio.run(all_of_it())
    assert ended == [1]


def test_a_function_whose_lock_was_lost_raises(tenure_memory, tenure_clock):
    @tenure.locked("job", max_hold=10)
    def work():
        tenure_clock.advance(11)

    with pytest.raises(tenure.Lost):
        work()


def test_a_tenure_can_be_given(tenure_memory):
    other = tenure.memory()

    @tenure.locked("job", tenure=other, wait=0)
    def given(hold):
        return other.inspect("job").is_held

    @tenure.locked("job", tenure=lambda: other, wait=0)
    def found(hold):
        return other.inspect("job").is_held

    assert given() and found()


def test_the_clock_moves_only_for_its_tests(tenure_memory, tenure_clock):
    before = tenure_clock.now
    with pytest.raises(tenure.Lost):
        with tenure_memory.mutex("a", ttl=30).lock() as hold:
            tenure_clock.advance(60)
            assert hold.lost
    assert tenure_clock.now >= before + 60
    with tenure_memory.mutex("a").lock(wait=5):
        # Without a move, a wait ends as it does elsewhere.
        with pytest.raises(tenure.Busy):
            tenure_memory.mutex("a").lock(wait=0.05).acquire()


def test_the_default_is_put_back():
    first = tenure.memory()
    assert tenure.set_default(first) is None
    assert tenure.default() is first
    assert tenure.set_default(None) is first
