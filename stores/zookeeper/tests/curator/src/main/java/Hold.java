import org.apache.curator.framework.CuratorFramework;
import org.apache.zookeeper.data.Stat;

/** Holds a recipe, and does with it what the lines on stdin say. */
final class Hold {
    private final CuratorFramework client;
    private final Recipe recipe;

    Hold(CuratorFramework client, Recipe recipe) {
        this.client = client;
        this.recipe = recipe;
    }

    void run() throws Exception {
        Commands.start(client);
        recipe.acquire();
        Commands.ready();
        String node = recipe.node();
        Events.print("held " + node + " " + czxid(node));
        for (String line = Commands.next(); line != null; line = Commands.next()) {
            obey(line);
        }
    }

    private void obey(String line) throws Exception {
        switch (line) {
            case "release":
                recipe.release();
                Events.print("released");
                break;
            case "downgrade":
                recipe.downgrade();
                Events.print("downgraded " + recipe.node());
                break;
            case "data":
                Events.print("data " + Nodes.text(client.getData().forPath(recipe.node())));
                break;
            case "exit":
                Runtime.getRuntime().halt(0);
                break;
            default:
                throw new IllegalArgumentException("no line " + line);
        }
    }

    private long czxid(String node) throws Exception {
        if (!node.startsWith("/")) {
            return -1;
        }
        Stat stat = client.checkExists().forPath(node);
        return stat == null ? -1 : stat.getCzxid();
    }
}
