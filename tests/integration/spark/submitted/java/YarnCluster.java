import java.io.FileOutputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;

/** A resource manager and two node managers on loopback, until the process is ended. */
public final class YarnCluster {
    /** The argument is where the configuration for clients goes once all is up. */
    public static void main(String[] arguments) throws Exception {
        String host = "127.0.0.1";
        Configuration configuration = new YarnConfiguration();
        configuration.set("yarn.resourcemanager.bind-host", host);
        configuration.set("yarn.nodemanager.bind-host", host);
        configuration.set("yarn.resourcemanager.hostname", host);
        configuration.set("yarn.scheduler.capacity.root.queues", "default");
        configuration.set("yarn.scheduler.capacity.root.default.capacity", "100");
        configuration.set("yarn.scheduler.capacity.maximum-am-resource-percent", "1");
        configuration.set("yarn.scheduler.minimum-allocation-mb", "128");
        configuration.set("yarn.nodemanager.vmem-check-enabled", "false");
        configuration.set("yarn.nodemanager.pmem-check-enabled", "false");
        configuration.set(
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "100");
        MiniYARNCluster cluster = new MiniYARNCluster("yarn", 2, 1, 1);
        cluster.init(configuration);
        cluster.start();
        if (!cluster.waitForNodeManagersToConnect(300_000)) {
            throw new IllegalStateException("The node managers did not connect.");
        }
        Path file = Path.of(arguments[0]);
        Path unfinished = file.resolveSibling("unfinished.xml");
        try (OutputStream out = new FileOutputStream(unfinished.toFile())) {
            cluster.getConfig().writeXml(out);
        }
        Files.move(unfinished, file);
        Thread.sleep(Long.MAX_VALUE);
    }
}
