import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.ArrayList;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import org.redisson.api.RLock;
import org.redisson.client.RedisException;

/** The calls that all locks have. */
final class ExclusiveCalls {
    private static final String[] ALL = {"lock", "fenced", "spin", "write", "read", "non-reentrant"};
    private static final String[] EXCLUSIVE = {"lock", "fenced", "spin", "write", "non-reentrant"};
    private static final String[] REENTRANT = {"lock", "fenced", "spin", "write", "read"};
    private static final String[] WAITING = {"lock", "spin", "write"};

    ExclusiveCalls(Calls calls) {
        var any = Calls.Contender.ANY;
        calls.add("lock", any, ExclusiveCalls::lock, ALL);
        calls.add("lock-for-a-lease", any, ExclusiveCalls::lockForALease, ALL);
        calls.add("end-of-a-lease", any, ExclusiveCalls::endOfALease, ALL);
        calls.add("watchdog", any, ExclusiveCalls::watchdog, "lock", "write", "read");
        calls.add("try", any, ExclusiveCalls::tryLock, ALL);
        calls.add("try-and-wait", any, ExclusiveCalls::tryAndWait, EXCLUSIVE);
        calls.add("try-and-wait-for-a-lease", any, ExclusiveCalls::tryAndWaitForALease, ALL);
        calls.add("excludes", any, ExclusiveCalls::excludes, EXCLUSIVE);
        calls.add("hands-over", any, ExclusiveCalls::handsOver, EXCLUSIVE);
        calls.add("lapses-for-another", any, ExclusiveCalls::lapsesForAnother, "lock", "spin");
        calls.add("interruptibly", any, ExclusiveCalls::interruptibly, WAITING);
        calls.add("interrupted", any, ExclusiveCalls::interrupted, WAITING);
        calls.add("unlock-of-another", any, ExclusiveCalls::unlockOfAnother, ALL);
        calls.add("unlock-of-nobody", any, ExclusiveCalls::unlockOfNobody, ALL);
        calls.add("reenter", any, ExclusiveCalls::reenter, REENTRANT);
        calls.add("two-objects", any, ExclusiveCalls::twoObjects, "lock", "write");
        calls.add("by-thread", any, ExclusiveCalls::byThread, "lock", "fenced", "spin");
        calls.add("count", any, ExclusiveCalls::count, EXCLUSIVE);
        calls.add("kinds-exclude", any, ExclusiveCalls::kindsExclude, "fenced");
        calls.add("async", any, ExclusiveCalls::async, "lock", "fenced", "spin", "write");
        calls.add("async-leases", any, ExclusiveCalls::asyncLeases, "lock", "fenced", "write");
        calls.add("no-condition", any, ExclusiveCalls::noCondition, "lock", "write");
        calls.add("force", Calls.Contender.FORCED, ExclusiveCalls::force, EXCLUSIVE);
        calls.add("force-nobody", Calls.Contender.NONE, ExclusiveCalls::forceNobody, "lock", "write");
        calls.add("free", Calls.Contender.NONE, ExclusiveCalls::free, ALL);
    }

    private static void lock(Scene scene) throws Exception {
        RLock lock = scene.lock();
        Calls.same(lock.getName(), scene.name(), "the name");
        scene.isNotOurs(lock);
        lock.lock();
        scene.isOurs(lock, 1);
        scene.hasWatchdog(lock);
        lock.unlock();
        scene.isNotOurs(lock);
    }

    private static void lockForALease(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock(Calls.LEASE_MS, MILLISECONDS);
        scene.isOurs(lock, 1);
        scene.hasLease(lock);
        lock.unlock();
        lock.lockInterruptibly(Calls.LEASE_MS, MILLISECONDS);
        scene.isOurs(lock, 1);
        scene.hasLease(lock);
        lock.unlock();
        scene.isNotOurs(lock);
    }

    private static void endOfALease(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock(Calls.SHORT_MS, MILLISECONDS);
        Calls.until("the lease is over", () -> !lock.isHeldByCurrentThread());
        scene.isNotOurs(lock);
        Calls.refusesUnlock(lock, "behind the lease");
    }

    private static void watchdog(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        long[] before = {lock.remainTimeToLive()};
        Calls.until("it is renewed", () -> {
            long left = lock.remainTimeToLive();
            boolean renewed = left > before[0];
            before[0] = left;
            return renewed;
        });
        scene.hasWatchdog(lock);
        scene.isOurs(lock, 1);
        lock.unlock();
    }

    private static void tryLock(Scene scene) throws Exception {
        RLock lock = scene.lock();
        Calls.until("it is free once", () -> {
            boolean taken = lock.tryLock();
            if (!taken) {
                scene.isNotOurs(lock);
            }
            return taken;
        });
        scene.isOurs(lock, 1);
        scene.hasWatchdog(lock);
        lock.unlock();
        scene.isNotOurs(lock);
    }

    private static void tryAndWait(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        var other = Calls.start(() -> {
            Calls.that(lock.tryLock(Calls.PATIENCE_MS, MILLISECONDS), "it waits in vain");
            scene.isOurs(lock, 1);
            scene.hasWatchdog(lock);
            lock.unlock();
            return null;
        });
        Thread.sleep(20);
        lock.unlock();
        Calls.result(other);
    }

    private static void tryAndWaitForALease(Scene scene) throws Exception {
        RLock lock = scene.lock();
        Calls.that(lock.tryLock(Calls.PATIENCE_MS, Calls.LEASE_MS, MILLISECONDS), "it waits in vain");
        scene.isOurs(lock, 1);
        scene.hasLease(lock);
        lock.unlock();
        scene.isNotOurs(lock);
    }

    private static void excludes(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        scene.isClosedElsewhere(lock);
        scene.isClosedElsewhere(scene.lock());
        scene.isOurs(lock, 1);
        lock.unlock();
    }

    private static void handsOver(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        var ended = new AtomicBoolean();
        var others = new ArrayList<Calls.Other<Object>>();
        for (int other = 0; other < 2; other++) {
            others.add(Calls.start(() -> {
                lock.lock();
                Calls.that(ended.get(), "it has it before the unlock");
                scene.isOurs(lock, 1);
                lock.unlock();
                return null;
            }));
        }
        Thread.sleep(20);
        scene.isOurs(lock, 1);
        ended.set(true);
        lock.unlock();
        for (var other : others) {
            Calls.result(other);
        }
    }

    private static void lapsesForAnother(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock(Calls.SHORT_MS, MILLISECONDS);
        Calls.elsewhere(() -> {
            RLock other = scene.lock();
            other.lock();
            scene.isOurs(other, 1);
            other.unlock();
            return null;
        });
        scene.isNotOurs(lock);
    }

    private static void interruptibly(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lockInterruptibly();
        scene.isOurs(lock, 1);
        scene.hasWatchdog(lock);
        isInterrupted(lock, () -> {
            lock.lockInterruptibly();
            return "locked";
        });
        scene.isOurs(lock, 1);
        lock.unlock();
    }

    private static void interrupted(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        isInterrupted(lock, () -> lock.tryLock(Calls.PATIENCE_MS, MILLISECONDS));
        isInterrupted(lock, () -> lock.tryLock(Calls.PATIENCE_MS, Calls.LEASE_MS, MILLISECONDS));
        lock.unlock();
    }

    private static void isInterrupted(RLock lock, Callable<?> wait) throws Exception {
        var other = Calls.start(() -> {
            refusesInterrupted(wait);
            Calls.that(!lock.isHeldByCurrentThread(), "it was interrupted and has it");
            return null;
        });
        Thread.sleep(20);
        other.thread().interrupt();
        Calls.result(other);
    }

    /** In the midst of a command it is the cause of another exception. */
    private static void refusesInterrupted(Callable<?> wait) throws Exception {
        Calls.refuses(InterruptedException.class, "an interrupted wait", () -> {
            try {
                return wait.call();
            } catch (RedisException refused) {
                // Or else the next command is interrupted too.
                Thread.interrupted();
                throw refused.getCause() instanceof InterruptedException interrupted ? interrupted : refused;
            }
        });
    }

    private static void unlockOfAnother(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        Calls.elsewhere(() -> {
            Calls.refusesUnlock(lock, "by another thread");
            return null;
        });
        scene.isOurs(lock, 1);
        lock.unlock();
        Calls.refusesUnlock(lock, "of what is unlocked");
    }

    private static void unlockOfNobody(Scene scene) throws Exception {
        Calls.refusesUnlock(scene.lock(), "of what was never locked");
    }

    private static void reenter(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        lock.lock();
        Calls.that(lock.tryLock(), "its own thread has to wait");
        scene.isOurs(lock, 3);
        for (int left = 2; left > 0; left--) {
            lock.unlock();
            scene.isOurs(lock, left);
            if (!scene.kind().equals("read")) {
                scene.isClosedElsewhere(lock);
            }
        }
        lock.unlock();
        scene.isNotOurs(lock);
        Calls.refusesUnlock(lock, "too many");
    }

    private static void twoObjects(Scene scene) throws Exception {
        RLock one = scene.lock();
        RLock other = scene.lock();
        one.lock();
        other.lock();
        scene.isOurs(one, 2);
        scene.isOurs(other, 2);
        one.unlock();
        scene.isOurs(other, 1);
        one.unlock();
        scene.isNotOurs(other);
    }

    private static void byThread(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        long self = Thread.currentThread().getId();
        Calls.that(!lock.isHeldByThread(self + 1_000_000), "a thread that is not there has it");
        Calls.elsewhere(() -> {
            Calls.that(lock.isHeldByThread(self), "another thread does not see whose it is");
            Calls.that(lock.isLocked(), "another thread does not see that it is locked");
            scene.isNotOurs(lock);
            return null;
        });
        lock.unlock();
        Calls.that(!lock.isHeldByThread(self), "it has what it has unlocked");
    }

    private static void count(Scene scene) throws Exception {
        var counter = new int[1];
        var others = new ArrayList<Calls.Other<Object>>();
        for (int other = 0; other < 4; other++) {
            others.add(Calls.start(() -> {
                RLock lock = scene.lock();
                for (int turn = 0; turn < 5; turn++) {
                    lock.lock();
                    int found = counter[0];
                    Thread.sleep(1);
                    counter[0] = found + 1;
                    lock.unlock();
                }
                return null;
            }));
        }
        for (var other : others) {
            Calls.result(other);
        }
        Calls.same(counter[0], 20, "what four threads have counted");
    }

    private static void kindsExclude(Scene scene) throws Exception {
        RLock[] kinds = {
            scene.client().getLock(scene.name()), scene.client().getSpinLock(scene.name()), scene.fenced()
        };
        for (RLock held : kinds) {
            held.lock();
            Calls.elsewhere(() -> {
                for (RLock other : kinds) {
                    Calls.that(!other.tryLock(), "two kinds have it at once");
                }
                return null;
            });
            held.unlock();
        }
    }

    private static void async(Scene scene) throws Exception {
        RLock lock = scene.lock();
        // Of no thread.
        long one = 7_000_000;
        long other = 8_000_000;
        lock.lockAsync(one).get();
        Calls.that(lock.isHeldByThreadAsync(one).get(), "it is not held by the number that locked it");
        Calls.that(!lock.isHeldByThreadAsync(other).get(), "it is held by another number");
        Calls.that(lock.isLockedAsync().get(), "it is held and not locked");
        Calls.that(!lock.tryLockAsync(other).get(), "two numbers have it at once");
        long left = lock.remainTimeToLiveAsync().get();
        Calls.that(left > 0 && left <= scene.watchdogMs(), "a watchdog leaves " + left + " ms");
        Calls.refuses(IllegalMonitorStateException.class, "an unlock by another number", () -> lock.unlockAsync(other)
                .get());
        Calls.that(lock.tryLockAsync(one).get(), "its own number has to wait");
        lock.unlockAsync(one).get();
        Calls.that(lock.isHeldByThreadAsync(one).get(), "it was locked twice, and is unlocked once");
        lock.unlockAsync(one).get();
        Calls.that(!lock.isHeldByThreadAsync(one).get(), "it is held by the number that unlocked it");
    }

    private static void asyncLeases(Scene scene) throws Exception {
        RLock lock = scene.lock();
        long one = 7_000_000;
        lock.lockAsync(Calls.LEASE_MS, MILLISECONDS, one).get();
        scene.hasLease(lock);
        lock.unlockAsync(one).get();
        Calls.that(
                lock.tryLockAsync(Calls.PATIENCE_MS, Calls.LEASE_MS, MILLISECONDS, one).get(), "it waits in vain");
        scene.hasLease(lock);
        Calls.that(!lock.tryLockAsync(Calls.SHORT_MS, Calls.LEASE_MS, MILLISECONDS, one + 1).get(), "two have it");
        lock.unlockAsync(one).get();
        // Of this thread.
        lock.lockAsync().get();
        Calls.same(lock.getHoldCountAsync().get(), 1, "the hold count");
        lock.unlockAsync().get();
        scene.isNotOurs(lock);
    }

    private static void noCondition(Scene scene) throws Exception {
        RLock lock = scene.lock();
        Calls.refuses(UnsupportedOperationException.class, "a condition", lock::newCondition);
    }

    private static void force(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        Calls.that(Calls.elsewhere(lock::forceUnlock), "there is nothing to unlock by force");
        scene.isNotOurs(lock);
        Calls.refusesUnlock(lock, "behind one by force");
        lock.lock();
        Calls.that(lock.forceUnlockAsync().get(), "there is nothing to unlock by force");
        scene.isNotOurs(lock);
    }

    private static void forceNobody(Scene scene) throws Exception {
        Calls.that(!scene.lock().forceUnlock(), "a free lock is unlocked by force");
    }

    private static void free(Scene scene) throws Exception {
        RLock lock = scene.lock();
        scene.isFree(lock);
        Calls.that(lock.tryLock(), "it is free, and it has to wait");
        lock.unlock();
        scene.isFree(lock);
        lock.lock(Calls.SHORT_MS, MILLISECONDS);
        Calls.until("the lease is over", () -> !lock.isLocked());
        scene.isFree(lock);
    }
}
