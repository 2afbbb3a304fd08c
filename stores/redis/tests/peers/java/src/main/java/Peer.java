import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ConcurrentModificationException;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.Lock;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/** Spring Integration's RedisLockRegistry, as its users call it. ../../../../README.md has the protocol. */
public final class Peer {
    private Peer() {}

    public static void main(String[] words) throws Exception {
        // What stands before the last colon is the registry's key.
        int end = words[3].lastIndexOf(':');
        String registry = words[3].substring(0, end);
        var connections = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(words[1]));
        connections.afterPropertiesSet();
        connections.start();
        var locks = new RedisLockRegistry(connections, registry, Long.parseLong(words[2]));
        locks.setRedisLockType(words[0].endsWith("spin") ? RedisLockType.SPIN_LOCK : RedisLockType.PUB_SUB_LOCK);
        Lock lock = locks.obtain(words[3].substring(end + 1));
        var orders = new BufferedReader(new InputStreamReader(System.in));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            System.out.println(obey(lock, line.split(" ")));
        }
        System.exit(0);
    }

    private static String obey(Lock lock, String[] order) throws Exception {
        switch (order[0]) {
            case "count":
                Path file = Path.of(order[2]);
                for (int turn = 0; turn < Integer.parseInt(order[1]); turn++) {
                    lock.lock();
                    try {
                        int number = Integer.parseInt(Files.readString(file));
                        Files.writeString(file, Integer.toString(number + 1));
                    } finally {
                        lock.unlock();
                    }
                }
                return "done";
            case "write":
                Callable<Long> acquire = () -> {
                    lock.lock();
                    return null;
                };
                return Resource.write(acquire, lock::unlock, Integer.parseInt(order[1]), Integer.parseInt(order[2]));
            case "hold":
                lock.lock();
                return "held";
            default:
                try {
                    lock.unlock();
                    return "released";
                } catch (ConcurrentModificationException lost) {
                    return "lost";
                }
        }
    }
}
