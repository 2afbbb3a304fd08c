import java.util.Arrays;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.BoundedExponentialBackoffRetry;

/** Curator's recipes for tests of programs that share its locks. README.md has the commands. */
public final class Peer {
    private static final int CONNECT_MS = 10_000;

    private Peer() {}

    public static void main(String[] args) {
        CuratorFramework client = null;
        try {
            client = connect(args[0], Integer.parseInt(args[1]));
            run(client, args[2], Arrays.copyOfRange(args, 3, args.length));
            client.close();
            System.exit(0);
        } catch (Throwable error) {
            fail(client, error);
        }
    }

    private static CuratorFramework connect(String servers, int sessionMs) {
        CuratorFramework client =
                CuratorFrameworkFactory.newClient(
                        servers,
                        sessionMs,
                        CONNECT_MS,
                        new BoundedExponentialBackoffRetry(100, 1_000, 10));
        client.getConnectionStateListenable()
                .addListener((same, state) -> Events.print("state " + state));
        client.start();
        return client;
    }

    private static void run(CuratorFramework client, String command, String[] args)
            throws Exception {
        switch (command) {
            case "count":
                Turns.count(recipe(client, args, 0, 4), args[2], Integer.parseInt(args[3]));
                break;
            case "read":
                Recipe read = Recipe.of(client, "read", args[0], 0);
                Turns.read(read, args[1], Integer.parseInt(args[2]));
                break;
            case "permits":
                int permits = Integer.parseInt(args[1]);
                Recipe semaphore = Recipe.of(client, "semaphore", args[0], permits);
                Turns.permits(semaphore, permits, args[2], Integer.parseInt(args[3]));
                break;
            case "hold":
                new Hold(client, recipe(client, args, 0, 2)).run();
                break;
            case "try":
                attempt(recipe(client, args, 0, 3), Long.parseLong(args[2]));
                break;
            case "nodes":
                Nodes.participants(client, recipe(client, args, 0, 2));
                break;
            case "revoke":
                Revoker.attemptRevoke(client, args[0]);
                Events.print("done");
                break;
            case "latch":
                Latch.run(client, args[0], args[1]);
                break;
            case "time":
                new Timing(client, () -> recipe(client, args, 0, 2)).run();
                break;
            case "dump":
                Nodes.dump(client, args[0]);
                break;
            default:
                throw new IllegalArgumentException("no command " + command);
        }
    }

    /** The recipe at `at`, its path behind it, and its number of permits at `permits` if given. */
    private static Recipe recipe(CuratorFramework client, String[] args, int at, int permits) {
        int many = args.length > permits ? Integer.parseInt(args[permits]) : 1;
        return Recipe.of(client, args[at], args[at + 1], many);
    }

    private static void attempt(Recipe recipe, long millis) throws Exception {
        if (recipe.acquire(millis)) {
            Events.print("held");
            recipe.release();
        } else {
            Events.print("busy");
        }
    }

    private static void fail(CuratorFramework client, Throwable error) {
        if (Commands.ended()) {
            // The client is being closed since the input ended: what fails now, fails by that.
            return;
        }
        Events.print("error " + error.getClass().getName() + ": " + error.getMessage());
        if (client != null) {
            client.close();
        }
        System.exit(1);
    }
}
