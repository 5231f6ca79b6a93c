package io.debezium.connector.mongodb;

import io.debezium.config.Configuration;
import io.debezium.pipeline.spi.ChangeRecordEmitter;
import io.debezium.pipeline.txmetadata.TransactionContext;
import io.debezium.util.Clock;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.json.JsonConverter;
import org.bson.BsonBinaryReader;
import org.bson.Document;
import org.bson.codecs.DecoderContext;
import org.bson.codecs.DocumentCodec;

/**
 * The records that Debezium 1.7 makes of oplog entries and of copied documents, by its own classes.
 *
 * <p>Each line has a kind, a number, and documents as hexadecimal digits, with tabs between them: {@code o}, the number of
 * the operation in its transaction from 1 or 0, the entry, and the entry of the transaction; {@code r}, 0, a document of
 * shop.cust. The answer is a line with operation, topic, key and value, or with an exclamation mark where the
 * release fails.
 */
public final class OplogRecords {
    public static void main(String[] arguments) throws Exception {
        Configuration configuration = Configuration.create()
                .with("mongodb.name", "L")
                .with("mongodb.hosts", "rs0/localhost:27017")
                .with("field.exclude.list", arguments.length > 0 ? arguments[0] : "")
                .build();
        SourceInfo source = new SourceInfo(new MongoDbConnectorConfig(configuration));
        var topics = MongoDbTopicSelector.defaultSelector("L", "__heartbeat");
        MongoDbSchema schemas = new MongoDbSchema(new Filters(configuration), topics, source.schema());
        ReplicaSet replicaSet = new ReplicaSet("localhost:27017", "rs0", null);
        var offsets = new ReplicaSetOffsetContext(
                new MongoDbOffsetContext(source, new TransactionContext()), replicaSet, source);
        var partition = new ReplicaSetPartition("L", "rs0");
        JsonConverter keys = converter(true);
        JsonConverter values = converter(false);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", -1);
            Document document = document(parts[2]);
            CollectionId id = new CollectionId("rs0", "shop", "cust");
            boolean isRead = parts[0].equals("r");
            if (isRead) {
                offsets.readEvent(id, Instant.EPOCH);
            }
            else {
                id = CollectionId.parse("rs0", document.getString("ns"));
                offsets.oplogEvent(document, document(parts[3]), Long.parseLong(parts[1]));
                offsets.getOffset();
            }
            var schema = (MongoDbCollectionSchema) schemas.schemaFor(id);
            String topic = topics.topicNameFor(id);
            ChangeRecordEmitter.Receiver receiver = (from, of, operation, key, value, offset, headers) ->
                    out.println(String.join("\t", operation.code(), topic,
                            text(keys, topic, (Struct) key), text(values, topic, value)));
            try {
                new MongoDbChangeRecordEmitter(partition, offsets, Clock.SYSTEM, document, isRead)
                        .emitChangeRecords(schema, receiver);
            }
            catch (RuntimeException failed) {
                out.println("!\t\t\t");
            }
        }
        out.flush();
    }

    private static String text(JsonConverter converter, String topic, Struct value) {
        return new String(converter.fromConnectData(topic, value.schema(), value), StandardCharsets.UTF_8);
    }

    private static JsonConverter converter(boolean isKey) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false"), isKey);
        return converter;
    }

    private static Document document(String digits) {
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(digits));
        return new DocumentCodec().decode(new BsonBinaryReader(bytes), DecoderContext.builder().build());
    }
}
