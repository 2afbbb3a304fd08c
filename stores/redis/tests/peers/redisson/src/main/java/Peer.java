import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.SingleServerConfig;

/** Redisson's locks, as their users call them. ../../../../README.md has the protocol. */
public final class Peer {
    private final RedissonClient client;
    private final Calls calls;
    private RLock lock;

    private Peer(RedissonClient client, long watchdogMs) {
        this.client = client;
        calls = new Calls(client, watchdogMs);
    }

    public static void main(String[] words) throws Exception {
        var config = new Config();
        config.setThreads(2).setNettyThreads(2).setLockWatchdogTimeout(Long.parseLong(words[2]));
        if (words[1].startsWith("cluster:")) {
            var servers = config.useClusterServers();
            servers.addNodeAddress("redis://127.0.0.1:" + words[1].substring("cluster:".length()));
            servers.setMasterConnectionPoolSize(4).setMasterConnectionMinimumIdleSize(1);
            servers.setSubscriptionConnectionPoolSize(4).setSubscriptionConnectionMinimumIdleSize(1);
        } else {
            var server = config.useSingleServer().setAddress("redis://127.0.0.1:" + words[1]);
            server.setConnectionPoolSize(4).setConnectionMinimumIdleSize(1);
            server.setSubscriptionConnectionPoolSize(4).setSubscriptionConnectionMinimumIdleSize(1);
            if (words.length > 4) {
                prepend(words[4], server);
            }
        }
        var peer = new Peer(Redisson.create(config), Long.parseLong(words[2]));
        peer.use(words[0], words[3]);
        var orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = orders.readLine(); line != null; line = orders.readLine()) {
            String answer;
            try {
                answer = peer.obey(line);
            } catch (Exception error) {
                answer = "error " + error;
            }
            System.out.println(answer);
        }
        // Not shutdown(), which takes seconds.
        Runtime.getRuntime().halt(0);
    }

    /** A NameMapper, whose package is another one in each of the two versions. */
    private static void prepend(String prefix, SingleServerConfig server) throws Exception {
        for (var method : SingleServerConfig.class.getMethods()) {
            if (method.getName().equals("setNameMapper")) {
                Class<?> mapper = method.getParameterTypes()[0];
                Object prepending = Proxy.newProxyInstance(
                        mapper.getClassLoader(),
                        new Class<?>[] {mapper},
                        (self, called, names) -> called.getName().equals("map")
                                ? prefix + names[0]
                                : ((String) names[0]).substring(prefix.length()));
                method.invoke(server, prepending);
                return;
            }
        }
        throw new NoSuchMethodException("setNameMapper");
    }

    private void use(String kind, String name) throws Exception {
        lock = switch (kind) {
            case "redisson" -> client.getLock(name);
            case "redisson-spin" -> client.getSpinLock(name);
            case "redisson-fenced" -> client.getFencedLock(name);
            case "redisson-fair" -> client.getFairLock(name);
            case "redisson-read" -> client.getReadWriteLock(name).readLock();
            case "redisson-write" -> client.getReadWriteLock(name).writeLock();
            case "redisson-multi" -> client.getMultiLock(client.getLock(name), client.getLock(name + ":too"));
            // 3.52 has none.
            case "redisson-non-reentrant" ->
                    (RLock) RedissonClient.class.getMethod("getNonReentrantLock", String.class).invoke(client, name);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    /** Waits for the lock, and returns its token if it has one. */
    private Long acquire() {
        if (lock instanceof RFencedLock fenced) {
            return fenced.lockAndGetToken();
        }
        lock.lock();
        return null;
    }

    private String held() {
        Long token = acquire();
        return token == null ? "held" : "held " + token;
    }

    private String obey(String line) throws Exception {
        String[] order = line.split(" ", 3);
        switch (order[0]) {
            case "use":
                use(order[1], order[2]);
                return "using";
            case "count":
                return count(Integer.parseInt(order[1]), Path.of(order[2]));
            case "compare":
                return compare(Integer.parseInt(order[1]), Path.of(order[2]));
            case "write":
                int port = Integer.parseInt(order[2]);
                return Resource.write(this::acquire, lock::unlock, Integer.parseInt(order[1]), port);
            case "hold":
                return held();
            case "try":
                return lock.tryLock() ? "held" : "busy";
            case "force":
                return lock.forceUnlock() ? "forced" : "none";
            case "cases":
                return calls.list();
            case "call":
                return calls.call(order[1]);
            case "look":
                return "looks " + lock.isLocked() + " " + lock.remainTimeToLive() + " " + lock.getHoldCount() + " "
                        + lock.isHeldByThread(Thread.currentThread().getId());
            case "release":
                try {
                    lock.unlock();
                    return "released";
                } catch (IllegalMonitorStateException lost) {
                    return "lost";
                }
            default:
                throw new IllegalArgumentException(line);
        }
    }

    private String count(int turns, Path file) throws Exception {
        // Of each turn the number that it found, and its token if it has one.
        var tokens = new StringBuilder("done");
        for (int turn = 0; turn < turns; turn++) {
            Long token = acquire();
            try {
                int number = Integer.parseInt(Files.readString(file));
                Files.writeString(file, Integer.toString(number + 1));
                if (token != null) {
                    tokens.append(' ').append(number).append(':').append(token);
                }
            } finally {
                lock.unlock();
            }
        }
        return tokens.toString();
    }

    private String compare(int turns, Path file) throws Exception {
        for (int turn = 0; turn < turns; turn++) {
            lock.lock();
            try {
                String before = Files.readString(file);
                Thread.sleep(1);
                if (before.isEmpty() || !before.equals(Files.readString(file))) {
                    return "torn";
                }
            } finally {
                lock.unlock();
            }
        }
        return "done";
    }
}
