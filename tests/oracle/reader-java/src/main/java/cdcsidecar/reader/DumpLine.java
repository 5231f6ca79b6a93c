package cdcsidecar.reader;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

import com.fasterxml.jackson.core.JsonGenerator;

import org.apache.cassandra.db.ClusteringPrefix;
import org.apache.cassandra.db.DeletionTime;
import org.apache.cassandra.db.LivenessInfo;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.db.rows.Cell;
import org.apache.cassandra.db.rows.ColumnData;
import org.apache.cassandra.db.rows.ComplexColumnData;
import org.apache.cassandra.db.rows.RangeTombstoneBoundMarker;
import org.apache.cassandra.db.rows.RangeTombstoneBoundaryMarker;
import org.apache.cassandra.db.rows.Row;
import org.apache.cassandra.db.rows.Unfiltered;
import org.apache.cassandra.db.rows.UnfilteredRowIterator;
import org.apache.cassandra.utils.ByteBufferUtil;

/** One partition update as a line of the canonical dump. */
final class DumpLine
{
    private static final Comparator<Cell<?>> BY_COLUMN_AND_PATH =
        Comparator.<Cell<?>, ByteBuffer>comparing(cell -> cell.column().name.bytes, ByteBufferUtil::compareUnsigned)
                  .thenComparing(DumpLine::path, Comparator.nullsFirst(ByteBufferUtil::compareUnsigned));

    private final JsonGenerator json;

    DumpLine(JsonGenerator json)
    {
        this.json = json;
    }

    /** Writes the line without its end. {@code table} is the table's plain name. */
    void write(String segment, int position, int index, int count, String table, PartitionUpdate update) throws IOException
    {
        json.writeStartObject();
        json.writeStringField("segment", segment);
        json.writeNumberField("pos", position);
        json.writeNumberField("update", index);
        json.writeNumberField("updates", count);
        json.writeStringField("ks", update.metadata().keyspace);
        json.writeStringField("table", table);
        json.writeStringField("id", update.metadata().id.asUUID().toString());
        json.writeStringField("key", ByteBufferUtil.bytesToHex(update.partitionKey().getKey()));
        try (UnfilteredRowIterator items = update.unfilteredIterator())
        {
            deletion("del", items.partitionLevelDeletion(), false);
            json.writeFieldName("static");
            if (items.staticRow().isEmpty())
                json.writeNull();
            else
                row(items.staticRow());
            json.writeArrayFieldStart("items");
            while (items.hasNext())
                item(items.next());
            json.writeEndArray();
        }
        // The reader keeps no epoch of an empty update.
        Long epoch = update.isEmpty() ? null : Release.epoch(update);
        if (epoch != null)
            json.writeNumberField("epoch", epoch);
        json.writeEndObject();
    }

    private void item(Unfiltered item) throws IOException
    {
        if (item.isRow())
            row((Row) item);
        else if (item instanceof RangeTombstoneBoundMarker)
            bound((RangeTombstoneBoundMarker) item);
        else
            boundary((RangeTombstoneBoundaryMarker) item);
    }

    private void bound(RangeTombstoneBoundMarker marker) throws IOException
    {
        json.writeStartObject();
        json.writeStringField("t", "bound");
        json.writeStringField("kind", marker.clustering().kind().name());
        clustering(marker.clustering());
        deletion("del", marker.deletionTime(), false);
        json.writeEndObject();
    }

    private void boundary(RangeTombstoneBoundaryMarker marker) throws IOException
    {
        json.writeStartObject();
        json.writeStringField("t", "boundary");
        json.writeStringField("kind", marker.clustering().kind().name());
        clustering(marker.clustering());
        deletion("close", marker.endDeletionTime(), false);
        deletion("open", marker.startDeletionTime(), false);
        json.writeEndObject();
    }

    private void row(Row row) throws IOException
    {
        json.writeStartObject();
        if (!row.isStatic())
        {
            json.writeStringField("t", "row");
            clustering(row.clustering());
        }
        liveness(row.primaryKeyLivenessInfo());
        deletion("del", row.deletion().time(), row.deletion().isShadowable());
        complexDeletions(row);
        List<Cell<?>> cells = new ArrayList<>();
        row.cells().forEach(cells::add);
        cells.sort(BY_COLUMN_AND_PATH);
        json.writeArrayFieldStart("cells");
        for (Cell<?> cell : cells)
            cell(cell);
        json.writeEndArray();
        json.writeEndObject();
    }

    private void complexDeletions(Row row) throws IOException
    {
        List<ComplexColumnData> deleted = new ArrayList<>();
        for (ColumnData data : row)
            if (data.column().isComplex() && !isLive(((ComplexColumnData) data).complexDeletion()))
                deleted.add((ComplexColumnData) data);
        deleted.sort((one, other) -> ByteBufferUtil.compareUnsigned(one.column().name.bytes, other.column().name.bytes));
        json.writeArrayFieldStart("cdel");
        for (ComplexColumnData data : deleted)
        {
            json.writeStartObject();
            json.writeStringField("col", data.column().name.toString());
            json.writeNumberField("ts", data.complexDeletion().markedForDeleteAt());
            json.writeNumberField("ldt", data.complexDeletion().localDeletionTime());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private void cell(Cell<?> cell) throws IOException
    {
        json.writeStartObject();
        json.writeStringField("col", cell.column().name.toString());
        bytes("path", path(cell));
        json.writeStringField("kind", cell.isTombstone() ? "tombstone" : cell.isExpiring() ? "expiring" : "live");
        json.writeNumberField("ts", cell.timestamp());
        number("ttl", cell.ttl(), Cell.NO_TTL);
        number("ldt", cell.localDeletionTime(), Cell.NO_DELETION_TIME);
        bytes("val", cell.isTombstone() ? null : cell.buffer());
        json.writeEndObject();
    }

    private void liveness(LivenessInfo liveness) throws IOException
    {
        json.writeFieldName("live");
        if (liveness.isEmpty())
        {
            json.writeNull();
            return;
        }
        json.writeStartObject();
        json.writeNumberField("ts", liveness.timestamp());
        number("ttl", liveness.ttl(), LivenessInfo.NO_TTL);
        number("ldt", liveness.localExpirationTime(), LivenessInfo.NO_EXPIRATION_TIME);
        json.writeEndObject();
    }

    private void deletion(String name, DeletionTime time, boolean isShadowable) throws IOException
    {
        json.writeFieldName(name);
        if (isLive(time))
        {
            json.writeNull();
            return;
        }
        json.writeStartObject();
        json.writeNumberField("ts", time.markedForDeleteAt());
        json.writeNumberField("ldt", time.localDeletionTime());
        if (isShadowable)
            json.writeBooleanField("shadowable", true);
        json.writeEndObject();
    }

    private void clustering(ClusteringPrefix<?> prefix) throws IOException
    {
        json.writeArrayFieldStart("ck");
        for (int i = 0; i < prefix.size(); i++)
            hex(prefix.bufferAt(i));
        json.writeEndArray();
    }

    private void bytes(String name, ByteBuffer bytes) throws IOException
    {
        json.writeFieldName(name);
        hex(bytes);
    }

    private void hex(ByteBuffer bytes) throws IOException
    {
        if (bytes == null)
            json.writeNull();
        else
            json.writeString(ByteBufferUtil.bytesToHex(bytes));
    }

    private void number(String name, long value, long none) throws IOException
    {
        json.writeFieldName(name);
        if (value == none)
            json.writeNull();
        else
            json.writeNumber(value);
    }

    // The local deletion time of a live one differs between versions, so the timestamp decides.
    private static boolean isLive(DeletionTime time)
    {
        return time.markedForDeleteAt() == Long.MIN_VALUE;
    }

    private static ByteBuffer path(Cell<?> cell)
    {
        return cell.path() == null ? null : cell.path().get(0);
    }
}
