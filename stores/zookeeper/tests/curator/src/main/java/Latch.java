import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.Participant;

/** A participant of an election. */
final class Latch {
    private Latch() {}

    static void run(CuratorFramework client, String path, String id) throws Exception {
        LeaderLatch latch = new LeaderLatch(client, path, id);
        latch.addListener(
                new LeaderLatchListener() {
                    @Override
                    public void isLeader() {
                        Events.print("leader");
                    }

                    @Override
                    public void notLeader() {
                        Events.print("not leader");
                    }
                });
        latch.start();
        Commands.start(client);
        Commands.ready();
        for (String line = Commands.next(); line != null; line = Commands.next()) {
            obey(latch, line);
        }
    }

    private static void obey(LeaderLatch latch, String line) throws Exception {
        switch (line) {
            case "who":
                Participant leader = latch.getLeader();
                Events.print("leader is " + leader.getId() + " (" + leader.isLeader() + ")");
                Events.print(
                        "participants "
                                + latch.getParticipants().stream()
                                        .map(Participant::getId)
                                        .collect(Collectors.joining(",")));
                break;
            case "close":
                latch.close();
                Events.print("closed");
                break;
            case "exit":
                Runtime.getRuntime().halt(0);
                break;
            default:
                throw new IllegalArgumentException("no line " + line);
        }
    }
}
