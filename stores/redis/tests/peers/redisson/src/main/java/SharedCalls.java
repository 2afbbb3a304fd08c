import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.util.ArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RObject;

/** The calls of readers beside writers, of tokens, and of a lock that is not reentrant. */
final class SharedCalls {
    SharedCalls(Calls calls) {
        var any = Calls.Contender.ANY;
        calls.add("readers-share", any, SharedCalls::readersShare, "read");
        calls.add("writer-excludes", any, SharedCalls::writerExcludes, "write");
        calls.add("downgrade", any, SharedCalls::downgrade, "write");
        calls.add("no-upgrade", any, SharedCalls::noUpgrade, "read");
        calls.add("last-reader", any, SharedCalls::lastReader, "read");
        calls.add("which-is-locked", any, SharedCalls::whichIsLocked, "read");
        calls.add("force-the-other", any, SharedCalls::forceTheOther, "write");
        calls.add("tokens-rise", any, SharedCalls::tokensRise, "fenced");
        calls.add("token-or-null", any, SharedCalls::tokenOrNull, "fenced");
        calls.add("token-for-a-lease", any, SharedCalls::tokenForALease, "fenced");
        calls.add("tokens-of-threads", any, SharedCalls::tokensOfThreads, "fenced");
        calls.add("delete", Calls.Contender.NONE, SharedCalls::delete, "fenced");
        calls.add("refuses-to-reenter", any, SharedCalls::refusesToReenter, "non-reentrant");
    }

    private static void readersShare(Scene scene) throws Exception {
        RLock read = scene.lock();
        RLock write = scene.both().writeLock();
        read.lock();
        Calls.elsewhere(() -> {
            Calls.that(read.tryLock(), "a reader keeps another one out");
            scene.isOurs(read, 1);
            Calls.that(!write.tryLock(), "a reader can write");
            read.unlock();
            scene.isClosedElsewhere(write);
            return null;
        });
        scene.isOurs(read, 1);
        read.unlock();
        scene.isNotOurs(read);
    }

    private static void writerExcludes(Scene scene) throws Exception {
        RLock write = scene.lock();
        write.lock();
        scene.isClosedElsewhere(write);
        scene.isClosedElsewhere(scene.both().readLock());
        scene.isOurs(write, 1);
        write.unlock();
    }

    /** Their waiting readers are not told of it. */
    private static void downgrade(Scene scene) throws Exception {
        RLock write = scene.lock();
        RLock read = scene.both().readLock();
        write.lock();
        Calls.that(read.tryLock(), "a writer cannot read");
        scene.isClosedElsewhere(read);
        write.unlock();
        scene.isNotOurs(write);
        scene.isOurs(read, 1);
        scene.isClosedElsewhere(write);
        Calls.elsewhere(() -> {
            Calls.that(read.tryLock(), "who wrote and reads keeps a reader out");
            read.unlock();
            return null;
        });
        scene.isOurs(read, 1);
        read.unlock();
        scene.isNotOurs(read);
    }

    private static void noUpgrade(Scene scene) throws Exception {
        RLock read = scene.lock();
        RLock write = scene.both().writeLock();
        read.lock();
        Calls.that(!write.tryLock(), "a reader writes");
        Calls.that(!write.tryLock(Calls.SHORT_MS, MILLISECONDS), "a reader waits, and writes");
        scene.isOurs(read, 1);
        read.unlock();
    }

    private static void lastReader(Scene scene) throws Exception {
        RLock read = scene.lock();
        RLock write = scene.both().writeLock();
        var ended = new AtomicBoolean();
        read.lock();
        var writer = Calls.start(() -> {
            write.lock();
            Calls.that(ended.get(), "it writes before the last reader has ended");
            scene.isOurs(write, 1);
            write.unlock();
            return null;
        });
        Calls.elsewhere(() -> {
            read.lock();
            read.unlock();
            return null;
        });
        scene.isOurs(read, 1);
        ended.set(true);
        read.unlock();
        Calls.result(writer);
    }

    private static void whichIsLocked(Scene scene) throws Exception {
        RLock read = scene.lock();
        RLock write = scene.both().writeLock();
        read.lock();
        Calls.that(read.isLocked() && !write.isLocked(), "a reader is taken for a writer");
        Calls.same(write.getHoldCount(), 0, "the hold count of the writer");
        Calls.that(!write.isHeldByCurrentThread(), "a reader has the right to write");
        read.unlock();
        write.lock();
        Calls.that(write.isLocked() && !read.isLocked(), "a writer is taken for a reader");
        Calls.same(read.getHoldCount(), 0, "the hold count of the reader");
        Calls.that(!read.isHeldByCurrentThread(), "a writer has the right to read");
        write.unlock();
    }

    private static void forceTheOther(Scene scene) throws Exception {
        RLock write = scene.lock();
        write.lock();
        Calls.that(!scene.both().readLock().forceUnlock(), "a writer is unlocked as a reader");
        scene.isOurs(write, 1);
        write.unlock();
    }

    private static void tokensRise(Scene scene) throws Exception {
        RFencedLock lock = scene.fenced();
        long before = 0;
        for (int turn = 0; turn < 5; turn++) {
            long token = lock.lockAndGetToken();
            Calls.that(token > before, token + " comes behind " + before);
            Calls.same(lock.getToken(), token, "the token of the holder");
            scene.isOurs(lock, 1);
            lock.unlock();
            before = token;
        }
        lock.lock();
        Calls.that(lock.getToken() > before, "a lock without a word of tokens has none");
        lock.unlock();
    }

    /** Without a time to wait it waits for ever, as in no promise. */
    private static void tokenOrNull(Scene scene) throws Exception {
        RFencedLock lock = scene.fenced();
        Long token = lock.tryLockAndGetToken(Calls.PATIENCE_MS, MILLISECONDS);
        Calls.that(token != null, "it waits in vain");
        Calls.elsewhere(() -> {
            Long other = lock.tryLockAndGetToken(Calls.SHORT_MS, MILLISECONDS);
            Calls.that(other == null, "two have a token");
            return null;
        });
        Calls.same(lock.getToken(), token, "the token of the holder");
        lock.unlock();
    }

    private static void tokenForALease(Scene scene) throws Exception {
        RFencedLock lock = scene.fenced();
        Long token = lock.tryLockAndGetToken(Calls.PATIENCE_MS, Calls.LEASE_MS, MILLISECONDS);
        Calls.that(token != null, "it waits in vain");
        scene.isOurs(lock, 1);
        scene.hasLease(lock);
        lock.unlock();
        scene.isNotOurs(lock);
    }

    private static void tokensOfThreads(Scene scene) throws Exception {
        var last = new long[1];
        var others = new ArrayList<Calls.Other<Object>>();
        for (int other = 0; other < 3; other++) {
            others.add(Calls.start(() -> {
                RFencedLock lock = scene.fenced();
                for (int turn = 0; turn < 4; turn++) {
                    long token = lock.lockAndGetToken();
                    Calls.that(token > last[0], token + " comes behind " + last[0]);
                    last[0] = token;
                    lock.unlock();
                }
                return null;
            }));
        }
        for (var other : others) {
            Calls.result(other);
        }
    }

    private static void delete(Scene scene) throws Exception {
        RFencedLock lock = scene.fenced();
        long first = lock.lockAndGetToken();
        lock.unlock();
        Calls.that(lock.lockAndGetToken() > first, "the next token is no greater one");
        lock.unlock();
        Calls.that(((RObject) lock).delete(), "there is nothing to delete");
        scene.isFree(lock);
        Calls.same(lock.lockAndGetToken(), 1L, "the first token behind it");
        lock.unlock();
    }

    private static void refusesToReenter(Scene scene) throws Exception {
        RLock lock = scene.lock();
        lock.lock();
        Calls.refuses(IllegalMonitorStateException.class, "the second lock of a thread", lock::tryLock);
        scene.isOurs(lock, 1);
        lock.unlock();
        scene.isNotOurs(lock);
    }
}
