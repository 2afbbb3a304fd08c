import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.utils.ZKPaths;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.data.Stat;

/** What the nodes of a recipe are. */
final class Nodes {
    private Nodes() {}

    static void participants(CuratorFramework client, Recipe recipe) throws Exception {
        for (String node : recipe.participants()) {
            try {
                Events.print("node " + node + " " + text(client.getData().forPath(node)));
            } catch (KeeperException.NoNodeException gone) {
                // Let go since the list was made.
            }
        }
        Events.print("done");
    }

    /** Prints the nodes at and below `path`: kind, owner, number of changes below, and data. */
    static void dump(CuratorFramework client, String path) throws Exception {
        dumpFrom(client, path);
        Events.print("done");
    }

    private static void dumpFrom(CuratorFramework client, String path) throws Exception {
        Stat stat = new Stat();
        List<String> children;
        try {
            String data = text(client.getData().storingStatIn(stat).forPath(path));
            Events.print(
                    String.format(
                            "node %s %s owner=%x czxid=%d version=%d cversion=%d data=%s",
                            path,
                            kind(stat),
                            stat.getEphemeralOwner(),
                            stat.getCzxid(),
                            stat.getVersion(),
                            stat.getCversion(),
                            data));
            children = client.getChildren().forPath(path);
        } catch (KeeperException.NoNodeException gone) {
            return;
        }
        children.sort(null);
        for (String child : children) {
            dumpFrom(client, ZKPaths.makePath(path, child));
        }
    }

    /** A server does not tell containers from other nodes that are kept. */
    private static String kind(Stat stat) {
        return stat.getEphemeralOwner() == 0 ? "persistent" : "ephemeral";
    }

    /** Printable ASCII as it is, every other byte in hexadecimal. */
    static String text(byte[] data) {
        if (data == null) {
            return "null";
        }
        StringBuilder text = new StringBuilder();
        for (byte one : data) {
            boolean plain = one >= ' ' && one < 0x7f && one != '\\';
            text.append(plain ? String.valueOf((char) one) : String.format("\\x%02x", one));
        }
        return text.toString();
    }
}
