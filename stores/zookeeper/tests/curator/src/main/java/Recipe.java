import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;

/** One recipe of Curator at one path, and what the thread has of it. */
abstract class Recipe {
    abstract void acquire() throws Exception;

    abstract boolean acquire(long millis) throws Exception;

    abstract void release() throws Exception;

    /** The full path of the node that is held by, "-" if the recipe has no one node. */
    abstract String node() throws Exception;

    abstract Collection<String> participants() throws Exception;

    /** From the write lock to the read lock of the same path. */
    void downgrade() throws Exception {
        throw new UnsupportedOperationException("only write downgrades");
    }

    static Recipe of(CuratorFramework client, String name, String path, int permits) {
        switch (name) {
            case "mutex":
                return new Mutex(new InterProcessMutex(client, path));
            case "revocable":
                InterProcessMutex mutex = new InterProcessMutex(client, path);
                mutex.makeRevocable(same -> Events.print("asked to let go"));
                return new Mutex(mutex);
            case "read":
                return new Mutex(new InterProcessReadWriteLock(client, path).readLock());
            case "write":
                return new Write(new InterProcessReadWriteLock(client, path));
            case "semaphore":
                return new Semaphore(client, path, permits);
            case "semaphore-mutex":
                return new SemaphoreMutex(client, path);
            case "multi":
                return new Multi(new InterProcessMultiLock(client, Arrays.asList(path.split(","))));
            default:
                throw new IllegalArgumentException("no recipe " + name);
        }
    }

    private abstract static class Plain<L extends InterProcessLock> extends Recipe {
        L lock;

        Plain(L lock) {
            this.lock = lock;
        }

        @Override
        void acquire() throws Exception {
            lock.acquire();
        }

        @Override
        boolean acquire(long millis) throws Exception {
            return lock.acquire(millis, TimeUnit.MILLISECONDS);
        }

        @Override
        void release() throws Exception {
            lock.release();
        }
    }

    private static class Mutex extends Plain<InterProcessMutex> {
        Mutex(InterProcessMutex mutex) {
            super(mutex);
        }

        @Override
        String node() throws Exception {
            Method path = InterProcessMutex.class.getDeclaredMethod("getLockPath");
            path.setAccessible(true);
            return (String) path.invoke(lock);
        }

        @Override
        Collection<String> participants() throws Exception {
            return lock.getParticipantNodes();
        }
    }

    private static final class Write extends Mutex {
        private final InterProcessReadWriteLock both;

        Write(InterProcessReadWriteLock both) {
            super(both.writeLock());
            this.both = both;
        }

        @Override
        void downgrade() throws Exception {
            both.readLock().acquire();
            lock.release();
            lock = both.readLock();
        }
    }

    private static final class Semaphore extends Recipe {
        private final InterProcessSemaphoreV2 semaphore;
        private final String path;
        private Lease lease;

        Semaphore(CuratorFramework client, String path, int permits) {
            this.semaphore = new InterProcessSemaphoreV2(client, path, permits);
            this.path = path;
        }

        @Override
        void acquire() throws Exception {
            lease = semaphore.acquire();
        }

        @Override
        boolean acquire(long millis) throws Exception {
            lease = semaphore.acquire(millis, TimeUnit.MILLISECONDS);
            return lease != null;
        }

        @Override
        void release() {
            semaphore.returnLease(lease);
        }

        @Override
        String node() {
            return path + "/leases/" + lease.getNodeName();
        }

        @Override
        Collection<String> participants() throws Exception {
            return leases(semaphore, path);
        }

        /** The recipe tells only the names in a folder of its path. */
        static Collection<String> leases(InterProcessSemaphoreV2 semaphore, String path)
                throws Exception {
            return semaphore.getParticipantNodes().stream()
                    .map(name -> path + "/leases/" + name)
                    .collect(Collectors.toList());
        }
    }

    private static final class SemaphoreMutex extends Plain<InterProcessSemaphoreMutex> {
        private final InterProcessSemaphoreV2 semaphore;
        private final String path;

        SemaphoreMutex(CuratorFramework client, String path) {
            super(new InterProcessSemaphoreMutex(client, path));
            this.semaphore = new InterProcessSemaphoreV2(client, path, 1);
            this.path = path;
        }

        @Override
        String node() throws Exception {
            Field lease = InterProcessSemaphoreMutex.class.getDeclaredField("lease");
            lease.setAccessible(true);
            return path + "/leases/" + ((Lease) lease.get(lock)).getNodeName();
        }

        /** It has no list itself; its nodes are a semaphore's of one permit. */
        @Override
        Collection<String> participants() throws Exception {
            return Semaphore.leases(semaphore, path);
        }
    }

    private static final class Multi extends Plain<InterProcessMultiLock> {
        Multi(InterProcessMultiLock multi) {
            super(multi);
        }

        @Override
        String node() {
            return "-";
        }

        @Override
        Collection<String> participants() {
            throw new UnsupportedOperationException("multi has no list of nodes");
        }
    }
}
