import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.provider.jdbc.JdbcLockProvider;

/**
 * A host of the drill: a service that starts jobs under ShedLock, each on a thread of its own. They differ in their
 * {@code lockAtLeastFor}, and have their starts at the same times. Each line on stdin is a start: the number of the
 * call, when it is due and how long its work takes, both in microseconds, the former since 1970.
 *
 * <p>All hosts are on one machine, so their clocks agree, and {@code locked_by} is the same name: ShedLock asks for it
 * only where a lock is extended.
 */
public final class Host {
    /** As its documentation gives it. */
    private static final String TABLE =
            "CREATE TABLE IF NOT EXISTS shedlock(name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL,"
                    + " locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))";

    private static final Duration AT_MOST = Duration.ofSeconds(30);
    /** The job stays so long after its last line, as in the other rows. */
    private static final Duration STAYS = Duration.ofMillis(30);

    private final LockingTaskExecutor executor;
    /** The folder of the journals. */
    private final String folder;
    private final List<String> starts = new ArrayList<>();

    private Host(LockingTaskExecutor executor, String folder) {
        this.executor = executor;
        this.folder = folder;
    }

    /** The URL of the database, the user, and {@code table}; or a folder, and lockAtLeastFor of each job in ms. */
    public static void main(String[] args) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setMaximumPoolSize(Math.max(1, args.length - 3));
        try (HikariDataSource source = new HikariDataSource(config)) {
            if (args[2].equals("table")) {
                makeTable(source);
                return;
            }
            LockingTaskExecutor executor = new DefaultLockingTaskExecutor(new JdbcLockProvider(source));
            warmUp(executor);
            System.out.println("ready");
            Host host = new Host(executor, args[2]);
            new BufferedReader(new InputStreamReader(System.in)).lines().forEach(host.starts::add);
            List<Thread> jobs = new ArrayList<>();
            for (String atLeast : List.of(args).subList(3, args.length)) {
                jobs.add(new Thread(() -> host.schedule(atLeast)));
            }
            jobs.forEach(Thread::start);
            for (Thread job : jobs) {
                job.join();
            }
        }
    }

    private static void makeTable(HikariDataSource source) throws Exception {
        try (Connection connection = source.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(TABLE);
        }
    }

    /** A service has run for long, so that its first job is not slow. */
    private static void warmUp(LockingTaskExecutor executor) {
        String own = "warm-up-" + ProcessHandle.current().pid();
        for (int turn = 0; turn < 20; turn++) {
            executor.executeWithLock((Runnable) () -> {}, lock(own, Duration.ZERO));
        }
    }

    private static LockConfiguration lock(String name, Duration atLeast) {
        return new LockConfiguration(ClockProvider.now(), name, AT_MOST, atLeast);
    }

    private void schedule(String atLeast) {
        try (OutputStream journal = new FileOutputStream(folder + "/" + atLeast + "/journal", true)) {
            for (String start : starts) {
                String[] words = start.split(" ");
                Instant due = Instant.EPOCH.plusNanos(Long.parseLong(words[1]) * 1_000);
                Duration work = Duration.ofNanos(Long.parseLong(words[2]) * 1_000);
                sleep(Duration.between(Instant.now(), due));
                Runnable job = () -> run(journal, words[0], work);
                Duration least = Duration.ofMillis(Long.parseLong(atLeast));
                executor.executeWithLock(job, lock("report-" + atLeast, least));
            }
        } catch (Exception error) {
            error.printStackTrace();
            System.exit(1);
        }
    }

    private static void run(OutputStream journal, String call, Duration work) {
        write(journal, "- 0 begin " + call + "\n");
        sleep(work);
        write(journal, "- 0 end " + call + "\n");
        sleep(STAYS);
    }

    /** Of one line in one call, so that lines of several hosts do not mix. */
    private static void write(OutputStream journal, String line) {
        try {
            journal.write(line.getBytes(StandardCharsets.UTF_8));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void sleep(Duration time) {
        try {
            if (!time.isNegative()) {
                Thread.sleep(time.toMillis(), time.toNanosPart() % 1_000_000);
            }
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }
}
