package cdcsidecar.reader;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

import org.apache.cassandra.cql3.CQL3Type;
import org.apache.cassandra.cql3.CQLFragmentParser;
import org.apache.cassandra.cql3.CQLStatement;
import org.apache.cassandra.cql3.ColumnIdentifier;
import org.apache.cassandra.cql3.CqlParser;
import org.apache.cassandra.cql3.statements.schema.CreateTableStatement;
import org.apache.cassandra.cql3.statements.schema.CreateTypeStatement;
import org.apache.cassandra.cql3.statements.schema.CreateViewStatement;
import org.apache.cassandra.db.marshal.AbstractType;
import org.apache.cassandra.schema.ColumnMetadata;
import org.apache.cassandra.schema.KeyspaceMetadata;
import org.apache.cassandra.schema.KeyspaceParams;
import org.apache.cassandra.schema.Keyspaces;
import org.apache.cassandra.schema.TableId;
import org.apache.cassandra.schema.TableMetadata;
import org.apache.cassandra.schema.Tables;
import org.apache.cassandra.schema.Types;
import org.apache.cassandra.service.ClientState;

/**
 * The schema that {@code DESCRIBE … WITH INTERNALS} prints, put into Cassandra's {@code Schema}.
 *
 * <p>Of a table's options only those that its records depend on are looked at, so that the text of one release suits the
 * reader of another. A table that comes twice under one name, with two ids, is known under both.
 */
final class SchemaText
{
    private static final Set<String> OPTIONS = Set.of("ID", "CLUSTERING", "COMPACT", "CDC");
    /** An id as DESCRIBE of 6.0 prints it for a compact table; CREATE TABLE rejects it. */
    private static final Pattern SHORT_ID = Pattern.compile("\\btid:([0-9a-f]+)\\b");
    /** The first half of such an id: {@code TableId.MAGIC}. */
    private static final long SHORT_ID_START = 1956074401491665062L;

    private final Map<String, Types> types = new HashMap<>();
    /** By keyspace and table; the names of tables that were made again carry a number. */
    private final Map<String, Map<String, TableMetadata>> tables = new LinkedHashMap<>();
    private final Map<TableId, String> names = new HashMap<>();

    /** Loads a text; gives the plain name of each table by its id. */
    static Map<TableId, String> load(String text) throws Exception
    {
        SchemaText schema = new SchemaText();
        List<List<String>> statements = CqlText.statements(SHORT_ID.matcher(text).replaceAll(SchemaText::longId));
        schema.addTypes(statements);
        for (List<String> statement : statements)
            schema.add(statement);
        schema.install();
        return schema.names;
    }

    private static String longId(MatchResult id)
    {
        return new UUID(SHORT_ID_START, Long.parseUnsignedLong(id.group(1), 16)).toString();
    }

    private void addTypes(List<List<String>> statements) throws Exception
    {
        Map<String, Map<String, CreateTypeStatement.Raw>> byKeyspace = new LinkedHashMap<>();
        for (List<String> statement : statements)
            if (startsWith(statement, "CREATE", "TYPE"))
            {
                int name = nameIndex(statement, 2);
                byKeyspace.computeIfAbsent(CqlText.name(statement.get(name)), keyspace -> new LinkedHashMap<>())
                          .put(CqlText.name(statement.get(name + 2)), (CreateTypeStatement.Raw) parsed(statement));
            }
        byKeyspace.forEach((keyspace, raw) -> {
            Types.RawBuilder builder = Types.rawBuilder(keyspace);
            raw.values().forEach(type -> type.addToRawBuilder(builder));
            types.put(keyspace, builder.build());
        });
    }

    private void add(List<String> statement) throws Exception
    {
        if (startsWith(statement, "CREATE", "TABLE"))
            addTable(essential(statement), nameIndex(statement, 2));
        else if (startsWith(statement, "CREATE", "MATERIALIZED", "VIEW"))
            addView(essential(statement), nameIndex(statement, 3));
        else if (startsWith(statement, "ALTER", "TABLE"))
            alterTable(statement, nameIndex(statement, 2));
    }

    private void addTable(List<String> statement, int at) throws Exception
    {
        String keyspace = CqlText.name(statement.get(at));
        String name = CqlText.name(statement.get(at + 2));
        retire(keyspace, name);
        CreateTableStatement.Raw raw = (CreateTableStatement.Raw) parsed(statement);
        put(Release.table(raw, typesOf(keyspace)).build());
    }

    /** A view's records have the shape of a table; Cassandra derives it from the base table. */
    private void addView(List<String> statement, int at) throws Exception
    {
        String keyspace = CqlText.name(statement.get(at));
        String name = CqlText.name(statement.get(at + 2));
        retire(keyspace, name);
        CreateViewStatement view =
            (CreateViewStatement) parsed(statement).prepare(ClientState.forInternalCalls());
        KeyspaceMetadata changed = Release.withView(view, Keyspaces.of(keyspace(keyspace))).getNullable(keyspace);
        put(changed.views.getNullable(name).metadata);
    }

    private void alterTable(List<String> statement, int at) throws Exception
    {
        String keyspace = CqlText.name(statement.get(at));
        TableMetadata table = tables.get(keyspace).get(CqlText.name(statement.get(at + 2)));
        String column = CqlText.name(statement.get(at + 4));
        ColumnIdentifier name = ColumnIdentifier.getInterned(column, true);
        TableMetadata.Builder builder = table.unbuild();
        switch (statement.get(at + 3).toUpperCase(Locale.ROOT))
        {
            case "DROP":
                ColumnMetadata dropped = table.getColumn(name);
                // The lowest drop time keeps all cells of the column.
                put(builder.removeRegularOrStaticColumn(name).recordColumnDrop(dropped, Long.MIN_VALUE).build());
                break;
            case "ADD":
                List<String> type = new ArrayList<>(statement.subList(at + 5, statement.size()));
                boolean isStatic = type.get(type.size() - 1).equalsIgnoreCase("STATIC");
                if (isStatic)
                    type.remove(type.size() - 1);
                AbstractType<?> prepared = typeOf(keyspace, String.join(" ", type));
                put((isStatic ? builder.addStaticColumn(name, prepared) : builder.addRegularColumn(name, prepared)).build());
                break;
            default:
                // Options such as WITH have no part in the records.
        }
    }

    private AbstractType<?> typeOf(String keyspace, String text) throws Exception
    {
        CQL3Type.Raw raw = CQLFragmentParser.parseAnyUnhandled(CqlParser::comparatorType, text);
        return raw.prepare(keyspace, typesOf(keyspace)).getType();
    }

    private void put(TableMetadata table)
    {
        tables.computeIfAbsent(table.keyspace, keyspace -> new LinkedHashMap<>()).put(table.name, table);
        names.put(table.id, table.name);
    }

    /** Gives way to a table that was made again under the same name. */
    private void retire(String keyspace, String name)
    {
        Map<String, TableMetadata> known = tables.getOrDefault(keyspace, Map.of());
        TableMetadata old = known.get(name);
        if (old == null)
            return;
        known.remove(name);
        String other = name + "__" + known.size();
        TableMetadata.Builder copy = TableMetadata.builder(keyspace, other, old.id)
                                                  .partitioner(old.partitioner)
                                                  .kind(old.kind)
                                                  .params(old.params)
                                                  .flags(old.flags)
                                                  .droppedColumns(old.droppedColumns);
        for (ColumnMetadata column : old.columns())
            copy.addColumn(Release.column(keyspace, other, column));
        known.put(other, copy.build());
    }

    private void install()
    {
        Release.install(Keyspaces.of(tables.keySet().stream().map(this::keyspace).toArray(KeyspaceMetadata[]::new)));
    }

    private KeyspaceMetadata keyspace(String name)
    {
        Tables.Builder all = Tables.builder();
        tables.getOrDefault(name, Map.of()).values().forEach(all::add);
        return KeyspaceMetadata.create(name, KeyspaceParams.simple(1), all.build()).withSwapped(typesOf(name));
    }

    private Types typesOf(String keyspace)
    {
        return types.getOrDefault(keyspace, Types.none());
    }

    /** The statement with no more than the {@link #OPTIONS}. */
    private static List<String> essential(List<String> statement)
    {
        List<String> kept = new ArrayList<>();
        int depth = 0;
        boolean inOptions = false, isKept = true;
        for (int i = 0; i < statement.size(); i++)
        {
            String token = statement.get(i);
            if ("({[".contains(token))
                depth++;
            else if (")}]".contains(token))
                depth--;
            boolean starts = depth == 0 && token.equalsIgnoreCase(inOptions ? "AND" : "WITH");
            if (starts)
            {
                isKept = OPTIONS.contains(statement.get(i + 1).toUpperCase(Locale.ROOT));
                if (isKept)
                    kept.add(kept.contains("WITH") ? "AND" : "WITH");
                inOptions = true;
            }
            else if (isKept)
                kept.add(token);
        }
        return kept;
    }

    private static CQLStatement.Raw parsed(List<String> statement) throws Exception
    {
        return CQLFragmentParser.parseAnyUnhandled(CqlParser::query, String.join(" ", statement));
    }

    private static boolean startsWith(List<String> statement, String... words)
    {
        for (int i = 0; i < words.length; i++)
            if (i >= statement.size() || !statement.get(i).equalsIgnoreCase(words[i]))
                return false;
        return true;
    }

    /** Where the keyspace of `keyspace.name` stands, behind IF [NOT] EXISTS. */
    private static int nameIndex(List<String> statement, int from)
    {
        int at = from;
        if (statement.get(at).equalsIgnoreCase("IF"))
            at += statement.get(at + 1).equalsIgnoreCase("NOT") ? 3 : 2;
        return at;
    }
}
