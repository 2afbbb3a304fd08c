import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;

/** Measures a recipe, again and again as the lines on stdin say. */
final class Timing {
    private final CuratorFramework client;
    private final Supplier<Recipe> recipes;

    Timing(CuratorFramework client, Supplier<Recipe> recipes) {
        this.client = client;
        this.recipes = recipes;
    }

    void run() throws Exception {
        client.blockUntilConnected();
        Commands.start(client);
        Commands.ready();
        Events.print("ready");
        for (String line = Commands.next(); line != null; line = Commands.next()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "pairs":
                    pairs(Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                    break;
                case "turns":
                    turns(Integer.parseInt(words[1]), Long.parseLong(words[2]));
                    break;
                default:
                    throw new IllegalArgumentException("no line " + line);
            }
        }
    }

    /** So many threads acquire and release until they did it `count` times together. */
    private void pairs(int threads, int count) throws Exception {
        AtomicInteger left = new AtomicInteger(count);
        AtomicReference<Exception> failed = new AtomicReference<>();
        List<Thread> all = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            Recipe recipe = recipes.get();
            all.add(
                    new Thread(
                            () -> {
                                try {
                                    while (left.getAndDecrement() > 0) {
                                        recipe.acquire();
                                        recipe.release();
                                    }
                                } catch (Exception error) {
                                    failed.compareAndSet(null, error);
                                }
                            }));
        }
        long start = System.nanoTime();
        all.forEach(Thread::start);
        for (Thread thread : all) {
            thread.join();
        }
        long took = System.nanoTime() - start;
        if (failed.get() != null) {
            throw failed.get();
        }
        Events.print("took " + took);
    }

    /** Holds it `count` times for so many microseconds and up to a millisecond more. */
    private void turns(int count, long hold) throws Exception {
        Recipe recipe = recipes.get();
        List<String> holds = new ArrayList<>();
        for (int turn = 0; turn < count; turn++) {
            recipe.acquire();
            long granted = System.nanoTime();
            pause((hold + 10 * (turn * 37 % 100)) * 1_000);
            long released = System.nanoTime();
            recipe.release();
            holds.add("turn " + granted + " " + released);
            pause(1_000_000);
        }
        holds.forEach(Events::print);
    }

    private static void pause(long nanos) {
        long until = System.nanoTime() + nanos;
        for (long left = nanos; left > 0; left = until - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
