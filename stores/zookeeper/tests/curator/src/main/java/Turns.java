import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;

/** Work that goes wrong if a lock does not exclude. */
final class Turns {
    private Turns() {}

    static void count(Recipe lock, String file, int turns) throws Exception {
        Path path = Paths.get(file);
        for (int turn = 0; turn < turns; turn++) {
            lock.acquire();
            try {
                long number = Long.parseLong(text(path).trim());
                pause();
                Files.write(path, Long.toString(number + 1).getBytes(StandardCharsets.UTF_8));
            } finally {
                lock.release();
            }
        }
        Events.print("done " + turns);
    }

    static void read(Recipe lock, String file, int turns) throws Exception {
        Path path = Paths.get(file);
        for (int turn = 0; turn < turns; turn++) {
            lock.acquire();
            try {
                String first = text(path);
                Thread.sleep(1);
                String second = text(path);
                if (!first.equals(second)) {
                    Events.print("torn " + first + " " + second);
                }
            } finally {
                lock.release();
            }
        }
        Events.print("done");
    }

    static void permits(Recipe semaphore, int permits, String folder, int turns) throws Exception {
        for (int turn = 0; turn < turns; turn++) {
            semaphore.acquire();
            try {
                Path mark = Files.createFile(Paths.get(folder, UUID.randomUUID().toString()));
                pause();
                String[] marks = new File(folder).list();
                if (marks.length > permits) {
                    Events.print("over " + marks.length);
                }
                Files.delete(mark);
            } finally {
                semaphore.release();
            }
        }
        Events.print("done");
    }

    private static String text(Path path) throws IOException {
        return new String(Files.readAllBytes(path), StandardCharsets.UTF_8);
    }

    private static void pause() throws InterruptedException {
        if (ThreadLocalRandom.current().nextBoolean()) {
            Thread.sleep(1);
        }
    }
}
