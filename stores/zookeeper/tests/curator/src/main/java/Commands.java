import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.apache.curator.framework.CuratorFramework;

/**
 * The lines on stdin. If they end while the first acquire waits, the client is closed and the
 * process ends at once; later, when the lines before the end are obeyed.
 */
final class Commands {
    /** No line that is read has it. */
    private static final String END = "\n";

    private static final BlockingQueue<String> LINES = new LinkedBlockingQueue<>();
    private static boolean waiting = true;
    private static boolean ended;

    private Commands() {}

    /** Reads from now on. Until `ready`, an end of the input ends the process. */
    static void start(CuratorFramework client) {
        Thread reader = new Thread(() -> read(client), "commands");
        reader.setDaemon(true);
        reader.start();
    }

    /** From now on the lines are taken by `next`. */
    static synchronized void ready() {
        waiting = false;
    }

    /** The next line, null after the last. */
    static String next() throws InterruptedException {
        String line = LINES.take();
        return line.equals(END) ? null : line.trim();
    }

    static synchronized boolean ended() {
        return ended;
    }

    private static synchronized boolean endWhileWaiting() {
        ended = waiting;
        return ended;
    }

    private static void read(CuratorFramework client) {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        try {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                LINES.add(line);
            }
        } catch (IOException error) {
            // As good as its end.
        }
        if (endWhileWaiting()) {
            client.close();
            Runtime.getRuntime().halt(0);
        }
        LINES.add(END);
    }
}
