import io.debezium.connector.mongodb.CollectionId;
import io.debezium.connector.mongodb.FieldSelector;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.bson.BsonBinaryReader;
import org.bson.BsonDocument;
import org.bson.codecs.BsonDocumentCodec;
import org.bson.codecs.DecoderContext;

/**
 * What Debezium's field selector leaves of documents of the collection shop.cust. For each line with exclusions,
 * renamings, a document and the updated fields of an update, both as hexadecimal digits and tabs between them, one
 * line with the two as JSON, or with an exclamation mark where it refuses.
 */
public final class RuledFields {
    private interface Change {
        BsonDocument apply(BsonDocument document);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split("\t", -1);
            FieldSelector selector = FieldSelector.builder()
                    .excludeFields(parts[0]).renameFields(parts[1]).build();
            FieldSelector.FieldFilter filter = selector.fieldFilterFor(new CollectionId("shop", "cust"));
            out.print(text(filter::apply, parts[2]) + '\t');
            out.print(text(filter::applyChange, parts[3]) + '\n');
        }
        out.flush();
    }

    private static String text(Change change, String digits) {
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(digits));
        BsonDocument document = new BsonDocumentCodec()
                .decode(new BsonBinaryReader(bytes), DecoderContext.builder().build());
        try {
            return change.apply(document).toJson();
        }
        catch (IllegalArgumentException taken) {
            return "!";
        }
    }
}
