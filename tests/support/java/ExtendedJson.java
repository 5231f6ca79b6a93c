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
import org.bson.json.JsonMode;
import org.bson.json.JsonWriterSettings;

/**
 * Writes BSON as extended JSON with MongoDB's own driver, with the settings that Debezium has: for each line of
 * hexadecimal digits one line with the strict, relaxed and canonical text and the relaxed one in the driver's own
 * layout, tabs between them.
 */
public final class ExtendedJson {
    private static JsonWriterSettings compact(JsonMode mode) {
        return JsonWriterSettings.builder()
                .outputMode(mode).indent(true).indentCharacters("").newLineCharacters("").build();
    }

    @SuppressWarnings("deprecation")
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(line));
            BsonDocument document = new BsonDocumentCodec()
                    .decode(new BsonBinaryReader(bytes), DecoderContext.builder().build());
            out.print(document.toJson(compact(JsonMode.STRICT)) + '\t');
            out.print(document.toJson(compact(JsonMode.RELAXED)) + '\t');
            out.print(document.toJson(compact(JsonMode.EXTENDED)) + '\t');
            out.print(document.toJson() + '\n');
        }
        out.flush();
    }
}
