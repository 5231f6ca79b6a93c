package cdcsidecar.reader;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** CQL text as statements, each a list of tokens; comments are left out. */
final class CqlText
{
    private final String text;
    private int at;

    private CqlText(String text)
    {
        this.text = text;
    }

    /** The statements of a text, without those that hold no token. */
    static List<List<String>> statements(String text)
    {
        CqlText reader = new CqlText(text);
        List<List<String>> statements = new ArrayList<>();
        List<String> statement = new ArrayList<>();
        for (String token = reader.next(); token != null; token = reader.next())
        {
            if (!token.equals(";"))
            {
                statement.add(token);
                continue;
            }
            if (!statement.isEmpty())
                statements.add(statement);
            statement = new ArrayList<>();
        }
        if (!statement.isEmpty())
            statements.add(statement);
        return statements;
    }

    /** A name as Cassandra keeps it: quotes taken off, lower case when there are none. */
    static String name(String token)
    {
        if (!token.startsWith("\""))
            return token.toLowerCase(Locale.ROOT);
        return token.substring(1, token.length() - 1).replace("\"\"", "\"");
    }

    private String next()
    {
        skipSpaceAndComments();
        if (at == text.length())
            return null;
        int start = at;
        char first = text.charAt(at);
        if (first == '"' || first == '\'')
            at = endOfQuoted(first);
        else if (text.startsWith("$$", at))
            at = text.indexOf("$$", at + 2) + 2;
        else if (isWordPart(first))
            while (at < text.length() && isWordPart(text.charAt(at)) && !text.startsWith("--", at))
                at++;
        else
            at += "<>!".indexOf(first) >= 0 && text.startsWith("=", at + 1) ? 2 : 1;
        return text.substring(start, at);
    }

    private void skipSpaceAndComments()
    {
        while (at < text.length())
        {
            if (Character.isWhitespace(text.charAt(at)))
                at++;
            else if (text.startsWith("/*", at))
                at = text.indexOf("*/", at + 2) + 2;
            else if (text.startsWith("--", at) || text.startsWith("//", at))
                at = text.indexOf('\n', at) < 0 ? text.length() : text.indexOf('\n', at);
            else
                return;
        }
    }

    private int endOfQuoted(char quote)
    {
        int end = at + 1;
        while (text.charAt(end) != quote || end + 1 < text.length() && text.charAt(end + 1) == quote)
            end += text.charAt(end) == quote ? 2 : 1;
        return end + 1;
    }

    // A dash belongs to a word because of ids and of negative numbers.
    private static boolean isWordPart(char sign)
    {
        return Character.isLetterOrDigit(sign) || sign == '_' || sign == '-';
    }
}
