import java.util.concurrent.TimeUnit;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;

/** One name, and its locks. */
record Scene(RedissonClient client, String kind, String name, long watchdogMs) {
    /** Another object at each call. */
    RLock lock() throws Exception {
        return switch (kind) {
            case "lock" -> client.getLock(name);
            case "fenced" -> fenced();
            case "spin" -> client.getSpinLock(name);
            case "read" -> both().readLock();
            case "write" -> both().writeLock();
            case "non-reentrant" ->
                    (RLock) RedissonClient.class.getMethod("getNonReentrantLock", String.class).invoke(client, name);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    RFencedLock fenced() {
        return client.getFencedLock(name);
    }

    RReadWriteLock both() {
        return client.getReadWriteLock(name);
    }

    void isOurs(RLock lock, int count) {
        Calls.that(lock.isHeldByCurrentThread(), "it is not held by its thread");
        Calls.that(lock.isHeldByThread(Thread.currentThread().getId()), "it is not held by the thread of its number");
        Calls.that(lock.isLocked(), "it is held and not locked");
        Calls.same(lock.getHoldCount(), count, "the hold count");
    }

    /** Which another process's may be. */
    void isNotOurs(RLock lock) {
        Calls.that(!lock.isHeldByCurrentThread(), "it is held by its thread");
        Calls.that(!lock.isHeldByThread(Thread.currentThread().getId()), "it is held by the thread of its number");
        Calls.same(lock.getHoldCount(), 0, "the hold count");
    }

    void isFree(RLock lock) {
        isNotOurs(lock);
        Calls.that(!lock.isLocked(), "it is free and locked");
        Calls.same(lock.remainTimeToLive(), -2L, "what is left of no hold");
    }

    void hasWatchdog(RLock lock) {
        long left = lock.remainTimeToLive();
        Calls.that(left > 0 && isAtMost(left, watchdogMs), "a watchdog leaves " + left + " ms");
    }

    void hasLease(RLock lock) {
        long left = lock.remainTimeToLive();
        Calls.that(
                left > Calls.LEASE_MS / 2 && isAtMost(left, Calls.LEASE_MS), "a lease leaves " + left + " ms");
    }

    /** What is left of readers is left of the one that has the most. */
    private boolean isAtMost(long left, long most) {
        return left <= most || kind.equals("read");
    }

    /** Neither at once nor in a while. */
    void isClosedElsewhere(RLock lock) throws Exception {
        Calls.elsewhere(() -> {
            Calls.that(!lock.tryLock(), "another thread has it too");
            long since = System.nanoTime();
            Calls.that(!lock.tryLock(Calls.SHORT_MS, TimeUnit.MILLISECONDS), "another thread waits, and has it too");
            long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - since);
            // They count whole milliseconds.
            Calls.that(took >= Calls.SHORT_MS - 5, "another thread waits " + took + " ms alone");
            isNotOurs(lock);
            return null;
        });
    }
}
