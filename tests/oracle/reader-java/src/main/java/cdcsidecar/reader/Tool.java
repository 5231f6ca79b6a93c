package cdcsidecar.reader;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;

import org.apache.cassandra.config.DatabaseDescriptor;

/** Cassandra's classes made usable in a process that is no node. */
final class Tool
{
    private static final String LOGBACK =
        "<configuration><appender name=\"ERR\" class=\"ch.qos.logback.core.ConsoleAppender\"><target>System.err</target>"
        + "<encoder><pattern>%level %msg%n</pattern></encoder></appender>"
        + "<root level=\"ERROR\"><appender-ref ref=\"ERR\"/></root></configuration>";

    private Tool() {}

    /** Sets Cassandra up with this directory and with these lines of cassandra.yaml beside the ones that it insists on. */
    static void start(Path directory, List<String> settings) throws IOException
    {
        List<String> yaml = new ArrayList<>(List.of("cluster_name: tool",
                                                    "partitioner: org.apache.cassandra.dht.Murmur3Partitioner",
                                                    "commitlog_sync: periodic",
                                                    "listen_address: 127.0.0.1",
                                                    "rpc_address: 127.0.0.1",
                                                    "endpoint_snitch: SimpleSnitch",
                                                    "materialized_views_enabled: true",
                                                    "data_file_directories: ['" + directory.resolve("data") + "']"));
        yaml.add("seed_provider: [{class_name: org.apache.cassandra.locator.SimpleSeedProvider, parameters: [{seeds: '127.0.0.1'}]}]");
        yaml.addAll(settings);
        // What is not given gets a place of its own.
        for (String name : List.of("commitlog", "cdc_raw", "hints", "saved_caches"))
            if (settings.stream().noneMatch(line -> line.startsWith(name + "_directory:")))
                yaml.add(name + "_directory: '" + directory.resolve(name) + "'");
        if (settings.stream().noneMatch(line -> line.startsWith("commitlog_sync_period:")))
            yaml.add("commitlog_sync_period: 10s");
        Path file = Files.write(directory.resolve("cassandra.yaml"), yaml, StandardCharsets.UTF_8);
        Path logback = Files.writeString(directory.resolve("logback.xml"), LOGBACK);
        System.setProperty("cassandra.config", file.toUri().toString());
        System.setProperty("cassandra.storagedir", directory.toString());
        System.setProperty("logback.configurationFile", logback.toUri().toString());
        DatabaseDescriptor.toolInitialization();
    }

    /** The line of cassandra.yaml for a JCEKS keystore with the key {@code testing:1} and passwords {@code cassandra}. */
    static String encryption(Path keystore)
    {
        return "transparent_data_encryption_options: {enabled: true, chunk_length_kb: 64, cipher: AES/CBC/PKCS5Padding, "
               + "key_alias: 'testing:1', key_provider: [{class_name: org.apache.cassandra.security.JKSKeyProvider, "
               + "parameters: [{keystore: '" + keystore.toAbsolutePath() + "', keystore_password: cassandra, store_type: JCEKS, "
               + "key_password: cassandra}]}]}";
    }

    static void delete(Path directory) throws IOException
    {
        Files.walkFileTree(directory, new SimpleFileVisitor<>()
        {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException
            {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, IOException error) throws IOException
            {
                Files.delete(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
