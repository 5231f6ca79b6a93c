package cdcsidecar.reader;

import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.cql3.statements.schema.CreateTableStatement;
import org.apache.cassandra.cql3.statements.schema.CreateViewStatement;
import org.apache.cassandra.db.partitions.PartitionUpdate;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.DistributedSchema;
import org.apache.cassandra.schema.Keyspaces;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.Types;
import org.apache.cassandra.schema.UserFunctions;
import org.apache.cassandra.service.ClientState;
import org.apache.cassandra.tcm.ClusterMetadata;
import org.apache.cassandra.tcm.ClusterMetadataService;
import org.apache.cassandra.tcm.Epoch;
import org.apache.cassandra.tcm.StubClusterMetadataService;
import org.apache.cassandra.tcm.membership.Directory;

/** What only Cassandra 6.0's classes do this way: the schema is a part of the cluster's metadata. */
final class Release
{
    private Release() {}

    static TableMetadata.Builder table(CreateTableStatement.Raw statement, Types types)
    {
        return statement.prepare(ClientState.forInternalCalls()).builder(types, UserFunctions.none());
    }

    static Keyspaces withView(CreateViewStatement statement, Keyspaces keyspaces)
    {
        return statement.apply(metadata(keyspaces));
    }

    /** The column in another table. */
    static ColumnMetadata column(String keyspace, String table, ColumnMetadata column)
    {
        return new ColumnMetadata(keyspace, table, column.name, column.type, column.uniqueId, column.position(), column.kind, null);
    }

    /** Makes these the keyspaces of {@code Schema}. */
    static void install(Keyspaces keyspaces)
    {
        // An update of an unknown table is an error if its epoch is before the current one, so that is the first of all.
        ClusterMetadata metadata = metadata(keyspaces).forceEpoch(Epoch.UPGRADE_STARTUP);
        ClusterMetadataService.setInstance(StubClusterMetadataService.forTesting(metadata));
    }

    /** The epoch of the update's table; null where the log has none. */
    static Long epoch(PartitionUpdate update)
    {
        return update.serializedAtEpoch == null ? null : update.serializedAtEpoch.getEpoch();
    }

    private static ClusterMetadata metadata(Keyspaces keyspaces)
    {
        return new ClusterMetadata(DatabaseDescriptor.getPartitioner(), Directory.EMPTY, new DistributedSchema(keyspaces));
    }
}
