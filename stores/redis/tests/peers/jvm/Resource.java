import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.Socket;
import java.util.concurrent.Callable;

/** What the lock protects in a drill: it hears of each turn who had the lock, and by which token. */
final class Resource {
    private final PrintStream out;
    private final BufferedReader in;

    private Resource(Socket socket) throws IOException {
        socket.setTcpNoDelay(true);
        out = new PrintStream(socket.getOutputStream());
        in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
    }

    static String write(Callable<Long> acquire, Runnable release, int turns, int port) throws Exception {
        try (var socket = new Socket("127.0.0.1", port)) {
            var resource = new Resource(socket);
            String self = " " + ProcessHandle.current().pid() + " ";
            for (int turn = 0; turn < turns; turn++) {
                try {
                    Long token = acquire.call();
                    String holder = self + (token == null ? "-" : token);
                    String number = resource.ask("open" + holder);
                    if (!number.equals("refused")) {
                        Thread.sleep(20);
                        resource.ask("write" + holder + " " + (Long.parseLong(number) + 1));
                    }
                    release.run();
                } catch (IOException error) {
                    throw error;
                } catch (Exception troubled) {
                    // It was stopped, or its lock was lost: the next turn is another one.
                }
                Thread.sleep(100);
            }
        }
        return "done";
    }

    private String ask(String line) throws IOException {
        out.print(line + "\n");
        out.flush();
        return in.readLine();
    }
}
