package cdcsidecar.reader;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import org.apache.cassandra.db.Mutation;
import org.apache.cassandra.db.commitlog.CommitLog;
import org.apache.cassandra.db.marshal.LongType;
import org.apache.cassandra.net.MessagingService;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.TableMetadata;

/**
 * Fills a {@code cdc_raw} through Cassandra's own commit log, without a node:
 * {@code WriteSegments DIRECTORY SEGMENT_MIB COUNT VALUE_BYTES SEED [COMPRESSOR | --keystore FILE]}.
 *
 * <p>Cassandra itself links the segments and writes their index files. Rows are inserted, one a mutation, over 100,000
 * partitions; the text of each is made of short words, so that it compresses about as prose does. The last, unfinished
 * segment is left as a clean stop leaves it. {@code schema.cql} is written beside them; the count of mutations goes to
 * standard output.
 */
public final class WriteSegments
{
    private static final String KEYSPACE =
        "CREATE KEYSPACE bench WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};\n";
    private static final String SCHEMA =
        "CREATE TABLE bench.events (id bigint, seq int, kind text, amount int, note text, PRIMARY KEY (id, seq)) "
        + "WITH ID = 6b9f1c10-3c1e-11f1-8000-0000000bec4a AND cdc = true;\n";
    private static final int PARTITIONS = 100_000;
    private static final int WORDS = 256;
    private static final long FIRST_WRITE_US = 1_700_000_000_000_000L;

    private WriteSegments() {}

    public static void main(String[] words) throws Exception
    {
        Path directory = Files.createDirectories(Path.of(words[0]).toAbsolutePath());
        int segmentMib = Integer.parseInt(words[1]);
        int count = Integer.parseInt(words[2]);
        int valueBytes = Integer.parseInt(words[3]);
        Path work = Files.createDirectory(directory.resolve("work"));
        List<String> settings = new ArrayList<>(List.of("cdc_enabled: true",
                                                        "cdc_block_writes: true",
                                                        "cdc_total_space: 64GiB",
                                                        "cdc_raw_directory: '" + directory + "'",
                                                        "commitlog_segment_size: " + segmentMib + "MiB",
                                                        "commitlog_total_space: 64GiB",
                                                        "commitlog_sync_period: 1s"));
        if (words.length > 6)
            settings.add(Tool.encryption(Path.of(words[6])));
        else if (words.length > 5)
            settings.add("commitlog_compression: [{class_name: " + words[5] + "}]");
        Tool.start(work, settings);
        SchemaText.load(SCHEMA);
        Files.writeString(directory.resolve("schema.cql"), KEYSPACE + SCHEMA);
        System.out.println(fill((long) count * segmentMib << 20, valueBytes, new Random(Long.parseLong(words[4]))));
        CommitLog.instance.shutdownBlocking();
        Tool.delete(work);
        System.exit(0);
    }

    private static long fill(long bytes, int valueBytes, Random random) throws Exception
    {
        CommitLog.instance.start();
        TableMetadata table = Schema.instance.getTableMetadata("bench", "events");
        String[] vocabulary = vocabulary(random);
        long mutations = 0;
        long written = 0;
        while (written < bytes)
        {
            Mutation.SimpleBuilder builder =
                Mutation.simpleBuilder("bench", table.partitioner.decorateKey(LongType.instance.decompose(mutations % PARTITIONS)));
            builder.timestamp(FIRST_WRITE_US + mutations * 7);
            builder.update(table)
                   .row((int) (mutations / PARTITIONS))
                   .add("kind", "kind-" + mutations % 50)
                   .add("amount", random.nextInt(100_000))
                   .add("note", text(valueBytes, vocabulary, random));
            Mutation mutation = builder.build();
            CommitLog.instance.add(mutation);
            mutations++;
            // Two checksums and a size around each.
            written += 12 + mutation.serializedSize(MessagingService.VERSION_40);
        }
        return mutations;
    }

    private static String[] vocabulary(Random random)
    {
        String[] vocabulary = new String[WORDS];
        for (int i = 0; i < WORDS; i++)
        {
            StringBuilder word = new StringBuilder();
            for (int length = 2 + random.nextInt(8); length > 0; length--)
                word.append((char) ('a' + random.nextInt(26)));
            vocabulary[i] = word.toString();
        }
        return vocabulary;
    }

    private static String text(int bytes, String[] vocabulary, Random random)
    {
        StringBuilder text = new StringBuilder(bytes + 16);
        while (text.length() < bytes)
            text.append(vocabulary[random.nextInt(WORDS)]).append(' ');
        text.setLength(bytes);
        return text.toString();
    }
}
