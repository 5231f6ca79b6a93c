package cdcsidecar.reader;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.apache.cassandra.db.Mutation;
import org.apache.cassandra.db.commitlog.CommitLogDescriptor;
import org.apache.cassandra.db.commitlog.CommitLogReadHandler;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.db.rows.Row;

/**
 * Times Cassandra's own reader: {@code Bench [--keystore FILE] SCHEMA.CQL SEGMENT…}.
 *
 * <p>Each line of standard input is one round over all segments in the one main thread and gives one line of JSON. The
 * line says what is done with a mutation: {@code deserialise} nothing but counting it, {@code visit} adding up every
 * cell's write time, TTL, path bytes and value bytes. The process ends with its input.
 */
public final class Bench implements CommitLogReadHandler
{
    private final boolean visits;
    private long mutations;
    private long cells;
    private long payloadBytes;
    private long checksum;

    private Bench(boolean visits)
    {
        this.visits = visits;
    }

    public static void main(String[] words) throws Exception
    {
        List<String> rest = List.of(words);
        List<String> settings = List.of();
        if (rest.get(0).equals("--keystore"))
        {
            settings = List.of(Tool.encryption(Path.of(rest.get(1))));
            rest = rest.subList(2, rest.size());
        }
        Path directory = Files.createTempDirectory("bench");
        try
        {
            Tool.start(directory, settings);
            SchemaText.load(Files.readString(Path.of(rest.get(0))));
            List<Path> segments = Segments.opened(rest.subList(1, rest.size()), directory);
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String mode = input.readLine(); mode != null; mode = input.readLine())
                System.out.println(round(mode, segments));
        }
        finally
        {
            Tool.delete(directory);
        }
        System.exit(0);
    }

    private static String round(String mode, List<Path> segments) throws Exception
    {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        Bench bench = new Bench(mode.equals("visit"));
        long cpuBeforeNs = threads.getCurrentThreadCpuTime();
        long beforeNs = System.nanoTime();
        for (Path segment : segments)
            Segments.read(segment, bench, false);
        long wallNs = System.nanoTime() - beforeNs;
        long cpuNs = threads.getCurrentThreadCpuTime() - cpuBeforeNs;
        return String.format("{\"mutations\":%d,\"cells\":%d,\"payload_bytes\":%d,\"checksum\":%s,\"wall_ns\":%d,\"cpu_ns\":%d}",
                             bench.mutations,
                             bench.cells,
                             bench.payloadBytes,
                             Long.toUnsignedString(bench.checksum),
                             wallNs,
                             cpuNs);
    }

    @Override
    public void handleMutation(Mutation mutation, int size, int position, CommitLogDescriptor descriptor)
    {
        mutations++;
        payloadBytes += size;
        if (!visits)
            return;
        for (PartitionUpdate update : mutation.getPartitionUpdates())
        {
            visit(update.staticRow());
            for (Row row : update)
                visit(row);
        }
    }

    private void visit(Row row)
    {
        for (Cell<?> cell : row.cells())
        {
            cells++;
            checksum += cell.timestamp() + cell.ttl();
            if (cell.path() != null)
                checksum += sum(cell.path().get(0));
            Object value = cell.value();
            checksum += value instanceof byte[] ? sum((byte[]) value) : sum(cell.buffer());
        }
    }

    private static long sum(byte[] bytes)
    {
        long sum = 0;
        for (byte each : bytes)
            sum += each & 0xff;
        return sum;
    }

    private static long sum(ByteBuffer bytes)
    {
        long sum = 0;
        for (int i = bytes.position(); i < bytes.limit(); i++)
            sum += bytes.get(i) & 0xff;
        return sum;
    }

    @Override
    public boolean shouldSkipSegmentOnError(CommitLogReadException error)
    {
        throw new IllegalStateException(error);
    }

    @Override
    public void handleUnrecoverableError(CommitLogReadException error)
    {
        throw new IllegalStateException(error);
    }
}
