package cdcsidecar.reader;

import java.rmi.registry.LocateRegistry;

import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.rmi.RMIConnector;
import javax.management.remote.rmi.RMIServer;

/**
 * Calls one operation of a node on the loopback address: {@code Jmx PORT OBJECT OPERATION STRING [STRING...]}.
 *
 * <p>The operation takes one string and one array of strings. The connection is looked up in the RMI registry directly,
 * because small Java runtimes lack the naming provider that {@code service:jmx:rmi} addresses need.
 */
public final class Jmx
{
    private Jmx() {}

    public static void main(String[] words) throws Exception
    {
        int port = Integer.parseInt(words[0]);
        RMIServer server = (RMIServer) LocateRegistry.getRegistry("127.0.0.1", port).lookup("jmxrmi");
        try (RMIConnector connector = new RMIConnector(server, null))
        {
            connector.connect();
            MBeanServerConnection beans = connector.getMBeanServerConnection();
            String[] rest = new String[words.length - 4];
            System.arraycopy(words, 4, rest, 0, rest.length);
            Object answer = beans.invoke(new ObjectName(words[1]),
                                         words[2],
                                         new Object[]{ words[3], rest },
                                         new String[]{ String.class.getName(), String[].class.getName() });
            if (answer != null)
                System.out.println(answer);
        }
    }
}
