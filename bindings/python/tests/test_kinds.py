"""Each kind of lock, on a store that has all of them."""

import asyncio
import threading

import pytest

import tenure


@pytest.fixture(params=["memory", "files", "redis", "postgres"])
def locks(request):
    if request.param == "memory":
        yield tenure.memory()
    else:
        url = request.getfixturevalue("files" if request.param == "files" else f"{request.param}_url")
        with tenure.open(url) as opened:
            yield opened


def busy(acquisition) -> bool:
    try:
        acquisition.acquire().release()
    except tenure.Busy:
        return True
    return False


def test_readers_share_and_a_writer_excludes_all(locks):
    lock = locks.rwlock("prices")
    with lock.read() as one, lock.read(wait=0) as two:
        assert one.held and two.held
        assert busy(lock.write(wait=0))
    with lock.write() as writing:
        assert busy(lock.read(wait=0)) and busy(lock.write(wait=0))
        assert writing.token > one.token


def test_a_writer_becomes_a_reader(locks):
    lock = locks.rwlock("prices")
    writing = lock.write().acquire()
    reading = writing.downgrade()
    assert reading.token == writing.token
    with lock.read(wait=5):
        assert busy(lock.write(wait=0))
    reading.release()

    async def work():
        writing = await lock.write()
        reading = await writing.downgrade_async()
        await reading.release_async()

    asyncio.run(work())
    with pytest.raises(tenure.Lost):
        writing.downgrade()


def test_permits_are_counted(locks):
    uploads = locks.semaphore("uploads", 3)
    with uploads.lock() as one, uploads.lock(2):
        assert one.held
        assert busy(uploads.lock(wait=0))
    with pytest.raises(tenure.UsageError):
        uploads.lock(4).acquire()


def test_all_are_held_or_none(locks):
    names = ["account:1", "account:2"]
    with locks.all(names).lock(wait=5) as hold:
        assert sorted(hold.tokens) == names
        assert hold.check() == hold.token == hold.tokens[hold.name]
        assert busy(locks.mutex("account:2").lock(wait=0))
        assert busy(locks.all(["account:2", "account:3"]).lock(wait=0))
    with locks.mutex("account:1").lock(wait=0), locks.mutex("account:3").lock(wait=0):
        pass


def test_one_candidate_leads(locks):
    election = locks.election("scheduler", label="10.0.0.7:9000")
    assert election.leader() is None
    with election.campaign(wait=5) as term:
        leader = election.leader()
        assert (leader.label, leader.term) == ("10.0.0.7:9000", term.token)
        assert busy(locks.election("scheduler").campaign(wait=0))
    assert asyncio.run(election.leader_async()) is None


def test_a_latch_opens_when_all_have_arrived(locks):
    latch = locks.latch("loaded", 2)
    assert latch.arrive("a") == 1
    assert latch.arrive("a") == 1
    with pytest.raises(tenure.Busy):
        latch.wait(wait=0.05)
    waits = threading.Thread(target=latch.wait)
    waits.start()
    assert asyncio.run(latch.arrive_async("b")) == 0
    waits.join(30)
    assert not waits.is_alive()
    asyncio.run(latch.wait_async(wait=5))
    assert latch.arrived() == ["a", "b"]
    latch.reset()
    assert latch.arrived() == []


def test_a_thread_enters_its_reentrant_lock_again(locks):
    ledger = locks.reentrant("ledger")

    def other():
        found.append(busy(ledger.lock(wait=0)))

    found = []
    with ledger.lock(wait=5) as outer:
        with ledger.lock(wait=0) as inner:
            assert inner.token == outer.token
            thread = threading.Thread(target=other)
            thread.start()
            thread.join(30)
        # The inner block released nothing.
        assert outer.held and busy(locks.mutex("ledger").lock(wait=0))
    assert found == [True]
    assert not busy(locks.mutex("ledger").lock(wait=5))


def test_a_task_enters_its_reentrant_lock_again_and_its_children_do_not(locks):
    ledger = locks.reentrant("ledger")

    async def other():
        with pytest.raises(tenure.Busy):
            await ledger.lock(wait=0)

    async def work():
        async with ledger.lock(wait=5) as outer:
            async with ledger.lock(wait=0) as inner:
                assert inner.token == outer.token
            await asyncio.ensure_future(other())
            outer.check()

    asyncio.run(work())


def test_settings_are_those_of_the_lock(locks):
    lock = locks.mutex("nightly", ttl=5, label="worker-7", operation="backup", reason="OPS-7", fair=True)
    with lock.lock() as hold:
        assert 3 < hold.remaining <= 5
        holder = lock.inspect().holders[0]
        assert holder.label == "worker-7" and "OPS-7" in holder.details
        assert holder.mode == "exclusive" and not holder.lingering
    with pytest.raises(tenure.UsageError, match="colour"):
        locks.mutex("a", colour="red").lock()


def test_a_lock_stays_taken_for_hold_at_least(locks):
    job = locks.mutex("job", hold_at_least=600)
    with job.lock():
        pass
    assert busy(job.lock(wait=0))
    other = locks.mutex("other", hold_at_least=600)
    with other.lock() as hold:
        hold.cancel_hold_at_least()
    assert not busy(other.lock(wait=0))


def test_a_reentrant_acquisition_belongs_to_the_thread_that_acquires(locks):
    acquisition = locks.reentrant("a").lock(wait=0)
    inside, done = threading.Event(), threading.Event()

    def holds():
        with acquisition as hold:
            hold.check()
            inside.set()
            done.wait(30)

    thread = threading.Thread(target=holds)
    thread.start()
    try:
        assert inside.wait(30)
        # This thread made the acquisition. It is not the owner.
        with pytest.raises(tenure.Busy):
            acquisition.acquire()
        with pytest.raises(tenure.Busy):
            locks.reentrant("a").lock(wait=0).acquire()
    finally:
        done.set()
        thread.join(30)
    with acquisition, locks.reentrant("a").lock(wait=0):
        pass


def test_a_reentrant_acquisition_belongs_to_the_task_that_acquires(locks):
    async def all_of_it():
        acquisition = locks.reentrant("a").lock(wait=0)

        async def enters():
            async with acquisition:
                pass

        async with locks.reentrant("a").lock():
            with pytest.raises(tenure.Busy):
                await asyncio.ensure_future(enters())
            await enters()

    asyncio.run(all_of_it())


def test_a_lock_is_broken(tenure_memory, locks):
    for opened in (tenure_memory, locks):
        assert opened.break_("a") == []
        with pytest.raises(tenure.Lost) as lost:
            with opened.mutex("a", label="first").lock() as hold:
                assert [broken.label for broken in opened.break_("a", reason="a test")] == ["first"]
                assert hold.wait_lost(timeout=30)
        assert lost.value.reason == "taken"

        async def breaks():
            hold = await opened.mutex("a").lock(wait=30)
            assert len(await opened.break_async("a")) == 1
            with pytest.raises(tenure.Lost):
                async with hold:
                    await hold.run_async(asyncio.sleep(600))

        asyncio.run(breaks())
