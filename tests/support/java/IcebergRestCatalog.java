package cdcsidecar;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** Iceberg's own REST catalog, over a JDBC catalog: port, URL of the database, warehouse. */
public class IcebergRestCatalog {
    public static void main(String[] arguments) throws Exception {
        Map<String, String> properties =
                Map.of(
                        "type", "jdbc",
                        "uri", arguments[1],
                        "jdbc.schema-version", "V1",
                        "warehouse", arguments[2]);
        // Hadoop's client is in the jars of pyspark, against which nothing is compiled.
        Object hadoop =
                Class.forName("org.apache.hadoop.conf.Configuration").getConstructor().newInstance();
        Catalog catalog = CatalogUtil.buildIcebergCatalog("backend", properties, hadoop);
        ServletContextHandler context = new ServletContextHandler();
        RESTCatalogServlet servlet = new RESTCatalogServlet(new RESTCatalogAdapter(catalog));
        context.addServlet(new ServletHolder(servlet), "/*");
        int port = Integer.parseInt(arguments[0]);
        Server server = new Server(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        server.setHandler(context);
        server.start();
        server.join();
    }
}
