import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.jdbc.JdbcLockProvider;

/** ShedLock on a table: acquires and releases so often as each line on stdin says. */
public final class Peer {
    /** As its documentation gives it. The type of times is another one on each database. */
    private static final String TABLE =
            "CREATE TABLE shedlock(name VARCHAR(64) NOT NULL, lock_until %1$s NOT NULL,"
                    + " locked_at %1$s NOT NULL, locked_by VARCHAR(255) NOT NULL,"
                    + " PRIMARY KEY (name))";

    private Peer() {}

    public static void main(String[] args) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(args[0]);
        config.setUsername(args[1]);
        config.setMaximumPoolSize(2);
        try (HikariDataSource source = new HikariDataSource(config)) {
            try (Connection connection = source.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute(String.format(TABLE, args[2]));
            }
            LockProvider locks = new JdbcLockProvider(source);
            System.out.println("ready");
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                int count = Integer.parseInt(line.trim());
                long start = System.nanoTime();
                for (int pair = 0; pair < count; pair++) {
                    pair(locks);
                }
                System.out.println("took " + (System.nanoTime() - start));
            }
        }
    }

    private static void pair(LockProvider locks) {
        LockConfiguration lock =
                new LockConfiguration(ClockProvider.now(), "alone", Duration.ofSeconds(30), Duration.ZERO);
        SimpleLock held =
                locks.lock(lock).orElseThrow(() -> new IllegalStateException("it is held"));
        held.unlock();
    }
}
