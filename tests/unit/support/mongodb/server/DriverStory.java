import com.mongodb.MongoException;
import com.mongodb.client.ClientSession;
import com.mongodb.client.MongoChangeStreamCursor;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.model.Aggregates;
import com.mongodb.client.model.Filters;
import com.mongodb.client.model.Updates;
import com.mongodb.client.model.changestream.ChangeStreamDocument;
import com.mongodb.client.model.changestream.FullDocument;
import java.io.IOException;
import java.util.List;
import org.bson.BsonDocument;
import org.bson.Document;

/**
 * Writes, a transaction and a change stream through MongoDB's Java driver, over an election.
 *
 * <p>Argument: a connection string. Prints an event a line; after "elect" it waits for a byte on
 * standard input.
 */
public final class DriverStory {
    private static final int WRITES_AFTER_ELECTION = 5;

    private DriverStory() {}

    public static void main(String[] arguments) throws IOException {
        try (MongoClient client = MongoClients.create(arguments[0])) {
            MongoCollection<Document> customers =
                    client.getDatabase("shop").getCollection("customers");
            BsonDocument token;
            try (MongoChangeStreamCursor<ChangeStreamDocument<Document>> stream =
                    client.watch(List.of(Aggregates.match(Filters.eq("ns.coll", "customers"))))
                            .fullDocument(FullDocument.UPDATE_LOOKUP)
                            .cursor()) {
                customers.insertMany(List.of(new Document("_id", 1), new Document("_id", 2)));
                customers.updateOne(Filters.eq("_id", 1), Updates.set("a.b", 3));
                try (ClientSession session = client.startSession()) {
                    session.withTransaction(
                            () -> {
                                customers.insertOne(session, new Document("_id", 3));
                                return customers.deleteOne(session, Filters.eq("_id", 2));
                            });
                }
                print(stream, 5);
                System.out.println("nothing: " + stream.tryNext());
                token = stream.getResumeToken();
                System.out.println("elect");
                System.in.read();
                for (int number = 0; number < WRITES_AFTER_ELECTION; number++) {
                    insert(customers, new Document("_id", 100 + number));
                }
                print(stream, WRITES_AFTER_ELECTION);
            }
            try (MongoChangeStreamCursor<ChangeStreamDocument<Document>> stream =
                    client.watch().resumeAfter(token).cursor()) {
                print(stream, WRITES_AFTER_ELECTION);
            }
            System.out.println("count: " + customers.countDocuments());
        }
    }

    /** The driver tries twice, and then tells. */
    private static void insert(MongoCollection<Document> customers, Document document) {
        while (customers.countDocuments(Filters.eq("_id", document.get("_id"))) == 0) {
            try {
                customers.insertOne(document);
            } catch (MongoException error) {
                System.err.println("again after " + error);
            }
        }
    }

    private static void print(
            MongoChangeStreamCursor<ChangeStreamDocument<Document>> stream, int count) {
        for (int number = 0; number < count; number++) {
            ChangeStreamDocument<Document> event = stream.next();
            System.out.println(
                    event.getOperationType().getValue()
                            + " "
                            + event.getDocumentKey().getNumber("_id").intValue()
                            + (event.getTxnNumber() == null ? "" : " in a transaction"));
        }
    }
}
