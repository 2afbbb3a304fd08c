// Counts in a file under a lock: java Hold.java LOCK FILE TURNS
import java.io.*;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;

public class Hold implements AutoCloseable {
    static class NotHeld extends IOException {
        NotHeld(String why) { super(why); }
    }

    final long token;
    private final Process child;
    private int checks;
    private final BufferedReader out;

    Hold(String name, String... options) throws IOException {
        var words = new ArrayList<>(List.of("tenure", "hold", name, "--json"));
        words.addAll(List.of("--parent", String.valueOf(ProcessHandle.current().pid())));
        words.addAll(List.of(options));
        child = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        out = child.inputReader();
        token = Long.parseLong(field(hear("acquired", null), "token_number"));
    }

    /** A field that is a number or a word; better use your library for JSON. */
    private static String field(String line, String name) {
        var found = Pattern.compile("\"" + name + "\":\"?(\\w+)").matcher(line);
        return found.find() ? found.group(1) : null;
    }

    /** The next line about this event; the end of a hold throws. */
    private String hear(String event, String id) throws IOException {
        for (String line; (line = out.readLine()) != null; ) {
            if (event.equals(field(line, "event")) && (id == null || id.equals(field(line, "id")))) return line;
            if ("lost".equals(field(line, "event")) || field(line, "exit_code") != null) throw new NotHeld(line);
        }
        throw new NotHeld("tenure hold has ended");
    }

    /** Until when to count on the lock, by System.nanoTime(), which stands still while the machine sleeps. */
    long check() throws IOException {
        var id = String.valueOf(++checks); // finds the answer: that to an earlier check may be unread
        long sent = System.nanoTime();
        try {
            child.outputWriter().write("check " + id + "\n");
            child.outputWriter().flush();
        } catch (IOException broken) { /* what it said last is in the output */ }
        var checked = hear("checked", id);
        if (!"true".equals(field(checked, "held"))) throw new NotHeld("the lock was lost");
        return sent + Long.parseLong(field(checked, "valid_ms")) * 1_000_000;
    }

    @Override public void close() throws IOException {
        try { child.outputWriter().close(); } catch (IOException broken) { /* it is over */ }
        child.onExit().join();
    }

    public static void main(String[] args) throws IOException {
        for (int turn = 0; turn < Integer.parseInt(args[2]); turn++) {
            try (var hold = new Hold(args[0], "--wait", "60s")) {
                var read = Files.readString(Path.of(args[1])).trim().split(" ");
                if (hold.token <= Long.parseLong(read[1])) throw new NotHeld("a newer holder wrote");
                long count = Long.parseLong(read[0]) + 1;
                long until = hold.check();
                if (System.nanoTime() - until < 0) Files.writeString(Path.of(args[1]), count + " " + hold.token + "\n");
            }
        }
    }
}
