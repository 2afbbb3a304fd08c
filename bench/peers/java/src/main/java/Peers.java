import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson, as scripts/bench-peers runs it. bench/peers/README.md has the protocol. */
public final class Peers {
    private static final Map<String, String> WORDS = new HashMap<>();
    private static final BufferedReader INPUT =
            new BufferedReader(new InputStreamReader(System.in));
    private static RedissonClient client;

    private static long number(String key) {
        return Long.parseLong(WORDS.get(key));
    }

    private static String name(long task) {
        return WORDS.get("prefix") + task;
    }

    private static RLock lock(String name) {
        return switch (WORDS.get("who")) {
            case "Redisson" -> client.getLock(name);
            case "Redisson-fenced" -> client.getFencedLock(name);
            case "Redisson-fair" -> client.getFairLock(name);
            default -> throw new IllegalArgumentException(WORDS.get("who"));
        };
    }

    /** Without an end, so that the watchdog renews it: 30 s, as by default. */
    private static void acquire(RLock lock) {
        if (lock instanceof org.redisson.api.RFencedLock fenced) {
            fenced.lockAndGetToken();
        } else {
            lock.lock();
        }
    }

    /** A virtual machine that has just begun is slow. */
    private static final long WARM_MILLIS = 4_000;

    private static void ready() throws IOException {
        System.out.println("ready");
        INPUT.readLine();
    }

    private static void tell(String result) throws IOException {
        System.out.println(result);
        while (INPUT.readLine() != null) {
            // Stays as it is until nobody listens.
        }
        Runtime.getRuntime().halt(0);
    }

    /** Runs it in so many threads; how many were still running when the time was over. */
    private static int run(int tasks, long millis, IntConsumer work) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int task = 0; task < tasks; task++) {
            int mine = task;
            Thread thread = new Thread(() -> work.accept(mine));
            thread.setDaemon(true);
            threads.add(thread);
        }
        threads.forEach(Thread::start);
        long until = System.nanoTime() + millis * 1_000_000;
        int late = 0;
        for (Thread thread : threads) {
            thread.join(Math.max(1, (until - System.nanoTime()) / 1_000_000));
            late += thread.isAlive() ? 1 : 0;
        }
        return late;
    }

    private static String pairs(long millis) throws InterruptedException {
        LongAdder done = new LongAdder();
        LongAdder errors = new LongAdder();
        long length = millis * 1_000_000;
        long start = System.nanoTime();
        // Who hangs has done what it has done.
        int hung = run((int) number("tasks"), millis + number("grace"), task -> {
            RLock lock = lock(name(task));
            while (System.nanoTime() - start < length) {
                try {
                    acquire(lock);
                    lock.unlock();
                    done.increment();
                } catch (RuntimeException failed) {
                    errors.increment();
                }
            }
        });
        double seconds = (hung > 0 ? length : System.nanoTime() - start) / 1e9;
        return "{\"pairs\":%d,\"errors\":%d,\"hung\":%d,\"seconds\":%s}"
                .formatted(done.sum(), errors.sum(), hung, seconds);
    }

    /** What one of a crowd wrote down; at the end those too are counted who still wait. */
    private static final class Member {
        long grants;
        long failed;
        final Map<Integer, Long> waits = new TreeMap<>();
        long longest;
        long waiting;

        synchronized void asks(long at) {
            waiting = at;
        }

        synchronized void gaveUp() {
            failed++;
        }

        synchronized void held(long wait, boolean inTime) {
            waiting = 0;
            waits.merge((int) (Math.log(Math.max(wait, 1)) / Math.log(1.1)), 1L, Long::sum);
            longest = Math.max(longest, wait);
            grants += inTime ? 1 : 0;
        }
    }

    private static void hot() throws IOException, InterruptedException {
        int tasks = (int) number("tasks");
        long length = number("millis") * 1_000_000;
        long section = number("section") * 1_000;
        List<Member> crowd = Stream.generate(Member::new).limit(tasks).toList();
        long start = System.nanoTime();
        run(tasks, number("millis") + number("grace"), task -> {
            RLock lock = lock(name(0));
            Member mine = crowd.get(task);
            while (System.nanoTime() - start < length) {
                long asked = System.nanoTime();
                mine.asks(asked);
                for (boolean had = false; !had && System.nanoTime() - start < length; ) {
                    try {
                        acquire(lock);
                        long granted = System.nanoTime();
                        while (System.nanoTime() - granted < section) {
                            Thread.onSpinWait();
                        }
                        mine.held(granted - asked, granted - start < length);
                        had = true;
                        lock.unlock();
                    } catch (RuntimeException failed) {
                        mine.gaveUp();
                    }
                }
                mine.asks(0);
            }
        });
        List<Long> grants = new ArrayList<>();
        Map<Integer, Long> waits = new TreeMap<>();
        long longest = 0;
        long errors = 0;
        int hung = 0;
        for (Member mine : crowd) {
            synchronized (mine) {
                grants.add(mine.grants);
                mine.waits.forEach((bucket, count) -> waits.merge(bucket, count, Long::sum));
                longest = Math.max(longest, mine.longest);
                errors += mine.failed;
                if (mine.waiting != 0) {
                    hung++;
                    longest = Math.max(longest, System.nanoTime() - mine.waiting);
                }
            }
        }
        String histogram = waits.entrySet().stream()
                .map(each -> "\"" + each.getKey() + "\":" + each.getValue())
                .collect(Collectors.joining(","));
        tell("{\"grants\":%s,\"waits\":{%s},\"longest_us\":%d,\"errors\":%d,\"hung\":%d,\"seconds\":%s}"
                .formatted(grants, histogram, longest / 1_000, errors, hung, length / 1e9));
    }

    private static void handoff() throws IOException, InterruptedException {
        List<String> holds = Collections.synchronizedList(new ArrayList<>());
        long millis = number("millis");
        int late = run(1, millis + number("grace"), task -> {
            RLock lock = lock(name(0));
            long start = System.nanoTime();
            for (long turn = 0; System.nanoTime() - start < millis * 1_000_000; turn++) {
                acquire(lock);
                long granted = System.nanoTime();
                pause(2_000_000 + 10_000 * (turn * 37 % 100));
                holds.add("[" + granted + "," + System.nanoTime() + "]");
                lock.unlock();
                pause(1_000_000);
            }
        });
        synchronized (holds) {
            tell("{\"holds\":[" + String.join(",", holds) + "],\"hung\":" + late + "}");
        }
    }

    private static void pause(long nanos) {
        try {
            Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    private static void hold() throws IOException, InterruptedException {
        acquire(lock(WORDS.get("prefix") + "first-" + ProcessHandle.current().pid()));
        ready();
        int tasks = (int) number("tasks");
        RLock[] kept = new RLock[tasks];
        AtomicInteger next = new AtomicInteger();
        AtomicInteger held = new AtomicInteger();
        run(Math.min(64, tasks), 120_000, worker -> {
            for (int task = next.getAndIncrement(); task < tasks; task = next.getAndIncrement()) {
                kept[task] = lock(name(task));
                acquire(kept[task]);
                held.incrementAndGet();
            }
        });
        tell("{\"held\":" + held + ",\"errors\":" + (held.get() < tasks) + "}");
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        for (String word : arguments) {
            int at = word.indexOf('=');
            WORDS.put(word.substring(0, at), word.substring(at + 1));
        }
        Config config = new Config();
        config.useSingleServer().setAddress(WORDS.get("url"));
        client = Redisson.create(config);
        String work = WORDS.get("work");
        if (work.equals("pair")) {
            pairs(Math.max(number("warm"), WARM_MILLIS));
            ready();
            tell(pairs(number("millis")));
        } else if (work.equals("hold")) {
            hold();
        } else {
            RLock alone = lock(WORDS.get("prefix") + "warm-" + ProcessHandle.current().pid());
            long until = System.nanoTime() + WARM_MILLIS * 1_000_000L;
            do {
                acquire(alone);
                alone.unlock();
            } while (System.nanoTime() < until);
            RLock first = lock(name(0));
            acquire(first);
            first.unlock();
            ready();
            if (work.equals("hot")) {
                hot();
            } else {
                handoff();
            }
        }
    }
}
