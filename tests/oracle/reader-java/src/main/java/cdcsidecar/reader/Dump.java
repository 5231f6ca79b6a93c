package cdcsidecar.reader;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;

import org.apache.cassandra.db.Mutation;
import org.apache.cassandra.db.commitlog.CommitLogDescriptor;
import org.apache.cassandra.db.commitlog.CommitLogReadHandler;
import org.apache.cassandra.db.commitlog.CommitLogReader;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.schema.TableId;

/**
 * Prints the canonical dump of what Cassandra's own reader finds:
 * {@code Dump [--keystore FILE] [--tolerate-truncation] SCHEMA.CQL SEGMENT…}.
 *
 * <p>Tables of the system keyspaces are left out. Standard error gets {@code error SEGMENT: MESSAGE} for what the reader
 * complains about and {@code unknown TABLE_ID COUNT} for mutations that it drops.
 */
public final class Dump implements CommitLogReadHandler
{
    private final Map<TableId, String> names;
    private final JsonGenerator json;
    private final DumpLine line;
    private String segment;

    private Dump(Map<TableId, String> names, JsonGenerator json)
    {
        this.names = names;
        this.json = json;
        this.line = new DumpLine(json);
    }

    public static void main(String[] words) throws Exception
    {
        List<String> rest = new ArrayList<>(List.of(words));
        List<String> settings = new ArrayList<>();
        boolean tolerateTruncation = rest.remove("--tolerate-truncation");
        if (rest.get(0).equals("--keystore"))
            settings.add(Tool.encryption(Path.of(rest.get(1))));
        rest = rest.subList(settings.isEmpty() ? 0 : 2, rest.size());

        Path directory = Files.createTempDirectory("dump");
        try (OutputStream out = new BufferedOutputStream(System.out, 1 << 16))
        {
            Tool.start(directory, settings);
            Map<TableId, String> names = SchemaText.load(Files.readString(Path.of(rest.get(0))));
            JsonGenerator json = new JsonFactory().createGenerator(out).setRootValueSeparator(null);
            Dump dump = new Dump(names, json);
            for (Path file : Segments.opened(rest.subList(1, rest.size()), directory))
                dump.read(file, tolerateTruncation);
            json.flush();
        }
        finally
        {
            Tool.delete(directory);
        }
        // Cassandra leaves threads behind.
        System.exit(0);
    }

    private void read(Path file, boolean tolerateTruncation) throws IOException
    {
        segment = file.getFileName().toString();
        CommitLogReader reader = Segments.read(file, this, tolerateTruncation);
        reader.getInvalidMutations().forEach(each -> System.err.println("unknown " + each.getKey() + ' ' + each.getValue()));
    }

    @Override
    public void handleMutation(Mutation mutation, int size, int position, CommitLogDescriptor descriptor)
    {
        int count = mutation.getPartitionUpdates().size();
        int index = 0;
        for (PartitionUpdate update : mutation.getPartitionUpdates())
        {
            String name = names.get(update.metadata().id);
            try
            {
                if (name != null)
                {
                    line.write(segment, position, index, count, name, update);
                    json.writeRaw('\n');
                }
            }
            catch (IOException error)
            {
                throw new UncheckedIOException(error);
            }
            index++;
        }
    }

    @Override
    public boolean shouldSkipSegmentOnError(CommitLogReadException error)
    {
        report(error);
        return false;
    }

    @Override
    public void handleUnrecoverableError(CommitLogReadException error)
    {
        report(error);
    }

    private void report(CommitLogReadException error)
    {
        System.err.println("error " + segment + ": " + error.getMessage());
    }
}
