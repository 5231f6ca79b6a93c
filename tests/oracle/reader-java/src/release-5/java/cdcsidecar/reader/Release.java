package cdcsidecar.reader;

import org.apache.cassandra.cql3.statements.schema.CreateTableStatement;
import org.apache.cassandra.cql3.statements.schema.CreateViewStatement;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.Keyspaces;
import org.apache.cassandra.schema.Schema;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.Types;
import org.apache.cassandra.service.ClientState;

/** What only Cassandra 5.0's classes do this way. */
final class Release
{
    private Release() {}

    static TableMetadata.Builder table(CreateTableStatement.Raw statement, Types types)
    {
        return statement.prepare(ClientState.forInternalCalls()).builder(types);
    }

    static Keyspaces withView(CreateViewStatement statement, Keyspaces keyspaces)
    {
        return statement.apply(keyspaces);
    }

    /** The column in another table. */
    static ColumnMetadata column(String keyspace, String table, ColumnMetadata column)
    {
        return new ColumnMetadata(keyspace, table, column.name, column.type, column.position(), column.kind, null);
    }

    /** Makes these the keyspaces of {@link Schema}. */
    static void install(Keyspaces keyspaces)
    {
        Schema.instance.transform(before -> {
            Keyspaces after = before;
            for (var keyspace : keyspaces)
                after = after.withAddedOrUpdated(keyspace);
            return after;
        });
    }

    /** The epoch of the update's table, or null: this release's log has none. */
    static Long epoch(PartitionUpdate update)
    {
        return null;
    }
}
