import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/**
 * What the javadoc of Redisson's locks promises, call by call. Each case has a name of its own, and may have a
 * contender that takes the lock of that name again and again: it waits for what it needs, and says nothing of a lock
 * that is not its own.
 */
final class Calls {
    /** How long what must come may take on a slow machine. */
    static final long PATIENCE_MS = 20_000;

    /** Longer than the watchdog's. */
    static final long LEASE_MS = 60_000;

    static final long SHORT_MS = 150;

    interface Body {
        void run(Scene scene) throws Exception;
    }

    /** Who may have the lock of the name too. */
    enum Contender {
        /** One that never loses it. */
        ANY,
        /** One that loses it to a forced unlock. */
        FORCED,
        NONE
    }

    private record Case(String kind, Contender contender, Body body) {}

    /** Those of other kinds cost nothing. */
    private final Map<String, Case> cases = new TreeMap<>();

    private final RedissonClient client;
    private final long watchdogMs;

    Calls(RedissonClient client, long watchdogMs) {
        this.client = client;
        this.watchdogMs = watchdogMs;
        new ExclusiveCalls(this);
        new SharedCalls(this);
    }

    void add(String name, Contender contender, Body body, String... kinds) {
        for (String kind : kinds) {
            if (!kind.equals("non-reentrant") || hasNonReentrant()) {
                cases.put(kind + "/" + name, new Case(kind, contender, body));
            }
        }
    }

    /** Since 4.4. */
    private static boolean hasNonReentrant() {
        for (var method : RedissonClient.class.getMethods()) {
            if (method.getName().equals("getNonReentrantLock")) {
                return true;
            }
        }
        return false;
    }

    /** Each with its contender. */
    String list() {
        var list = new StringBuilder("cases");
        cases.forEach((name, known) -> list.append(' ').append(name).append(':').append(known.contender));
        return list.toString();
    }

    /** Goes through one in a thread of its own. */
    String call(String name) throws Exception {
        Case called = cases.get(name);
        var scene = new Scene(client, called.kind, name, watchdogMs);
        try {
            elsewhere(() -> {
                called.body.run(scene);
                return null;
            });
            return "right " + name;
        } catch (Exception | AssertionError wrong) {
            return "wrong " + name + ": " + wrong;
        }
    }

    /** What another thread makes of it. */
    static <T> T elsewhere(Callable<T> called) throws Exception {
        return result(start(called));
    }

    static <T> Other<T> start(Callable<T> called) {
        var task = new FutureTask<>(called);
        var thread = new Thread(task);
        thread.setDaemon(true);
        thread.start();
        return new Other<>(thread, task);
    }

    record Other<T>(Thread thread, FutureTask<T> task) {}

    static <T> T result(Other<T> other) throws Exception {
        try {
            return other.task.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
        } catch (ExecutionException failed) {
            if (failed.getCause() instanceof Error error) {
                throw error;
            }
            throw (Exception) failed.getCause();
        } catch (TimeoutException late) {
            throw new AssertionError("not over: " + at(other.thread));
        }
    }

    private static List<String> at(Thread thread) {
        var lines = new ArrayList<String>();
        for (StackTraceElement line : thread.getStackTrace()) {
            if (!line.getClassName().startsWith("java.")) {
                lines.add(line.toString());
            }
        }
        return lines;
    }

    static void that(boolean promised, String otherwise) {
        if (!promised) {
            throw new AssertionError(otherwise);
        }
    }

    static void same(Object said, Object promised, String what) {
        that(said.equals(promised), what + " is " + said + ", not " + promised);
    }

    static void until(String what, Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(PATIENCE_MS);
        while (!condition.call()) {
            that(System.nanoTime() < end, "not until now: " + what);
            Thread.sleep(2);
        }
    }

    static void refuses(Class<? extends Throwable> promised, String what, Callable<?> called) throws Exception {
        Object said;
        try {
            said = called.call();
        } catch (Exception refused) {
            // That of a future is the cause of another one.
            Throwable cause = refused instanceof ExecutionException ? refused.getCause() : refused;
            that(promised.isInstance(cause), what + " ends with " + cause);
            return;
        }
        throw new AssertionError(what + " is not refused: " + said);
    }

    static void refusesUnlock(RLock lock, String whose) throws Exception {
        refuses(IllegalMonitorStateException.class, "an unlock " + whose, () -> {
            lock.unlock();
            return "unlocked";
        });
    }
}
