import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntConsumer;
import java.util.stream.Collectors;
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
        AtomicLong done = new AtomicLong();
        AtomicLong errors = new AtomicLong();
        long start = System.nanoTime();
        run((int) number("tasks"), millis + 10_000, task -> {
            RLock lock = lock(name(task));
            long good = 0;
            while (System.nanoTime() - start < millis * 1_000_000) {
                try {
                    acquire(lock);
                    lock.unlock();
                    good++;
                } catch (RuntimeException failed) {
                    errors.incrementAndGet();
                }
            }
            done.addAndGet(good);
        });
        double seconds = (System.nanoTime() - start) / 1e9;
        return "{\"pairs\":%d,\"errors\":%d,\"seconds\":%s}".formatted(done.get(), errors.get(), seconds);
    }

    private static void hot() throws IOException, InterruptedException {
        int tasks = (int) number("tasks");
        long length = number("millis") * 1_000_000;
        long section = number("section") * 1_000;
        long[] grants = new long[tasks];
        long[] waiting = new long[tasks];
        Map<Integer, Long> waits = new TreeMap<>();
        AtomicLong longest = new AtomicLong();
        AtomicLong errors = new AtomicLong();
        long start = System.nanoTime();
        run(tasks, number("millis") + number("grace"), task -> {
            RLock lock = lock(name(0));
            Map<Integer, Long> mine = new HashMap<>();
            while (System.nanoTime() - start < length) {
                long asked = System.nanoTime();
                waiting[task] = asked;
                try {
                    acquire(lock);
                    long granted = System.nanoTime();
                    while (System.nanoTime() - granted < section) {
                        Thread.onSpinWait();
                    }
                    lock.unlock();
                    long wait = granted - asked;
                    mine.merge((int) (Math.log(Math.max(wait, 1)) / Math.log(1.1)), 1L, Long::sum);
                    longest.accumulateAndGet(wait, Math::max);
                    grants[task] += granted - start < length ? 1 : 0;
                } catch (RuntimeException failed) {
                    errors.incrementAndGet();
                }
                waiting[task] = 0;
            }
            synchronized (waits) {
                mine.forEach((bucket, count) -> waits.merge(bucket, count, Long::sum));
            }
        });
        int hung = 0;
        for (long since : waiting) {
            if (since != 0) {
                hung++;
                longest.accumulateAndGet(System.nanoTime() - since, Math::max);
            }
        }
        String histogram;
        synchronized (waits) {
            histogram = waits.entrySet().stream()
                    .map(each -> "\"" + each.getKey() + "\":" + each.getValue())
                    .collect(Collectors.joining(","));
        }
        tell("{\"grants\":%s,\"waits\":{%s},\"longest_us\":%d,\"errors\":%d,\"hung\":%d,\"seconds\":%s}"
                .formatted(Arrays.toString(grants), histogram, longest.get() / 1_000, errors.get(),
                        hung, length / 1e9));
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
