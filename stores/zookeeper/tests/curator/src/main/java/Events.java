/** What happened, a line each. */
final class Events {
    private Events() {}

    static synchronized void print(String line) {
        System.out.println(line.replace('\n', ' '));
        System.out.flush();
    }
}
