package cdcsidecar.reader;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.zip.GZIPInputStream;

import org.apache.cassandra.db.commitlog.CommitLogDescriptor;
import org.apache.cassandra.db.commitlog.CommitLogReadHandler;
import org.apache.cassandra.db.commitlog.CommitLogReader;
import org.apache.cassandra.io.util.File;

/** Segment files in the order of their ids, and Cassandra's reader over them. */
final class Segments
{
    private static final String GZIP_ENDING = ".gz";

    private Segments() {}

    /** The files as Cassandra can read them: what ends in {@code .gz} is unpacked into the directory. */
    static List<Path> opened(List<String> files, Path directory) throws IOException
    {
        List<Path> opened = new ArrayList<>();
        for (String file : files)
            opened.add(unpacked(Path.of(file), directory));
        opened.sort(Comparator.comparingLong(path -> CommitLogDescriptor.fromFileName(path.getFileName().toString()).id));
        return opened;
    }

    static CommitLogReader read(Path segment, CommitLogReadHandler handler, boolean tolerateTruncation) throws IOException
    {
        CommitLogReader reader = new CommitLogReader();
        reader.readCommitLogSegment(handler, new File(segment), tolerateTruncation);
        return reader;
    }

    private static Path unpacked(Path file, Path directory) throws IOException
    {
        String name = file.getFileName().toString();
        if (!name.endsWith(GZIP_ENDING))
            return file.toAbsolutePath();
        Path target = directory.resolve(name.substring(0, name.length() - GZIP_ENDING.length()));
        try (InputStream packed = new GZIPInputStream(Files.newInputStream(file)))
        {
            Files.copy(packed, target);
        }
        return target;
    }
}
