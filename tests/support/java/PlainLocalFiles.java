package cdcsidecar;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermissions;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsConstants;
import org.apache.hadoop.fs.FsServerDefaults;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.local.LocalConfigKeys;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system without processes. Without its native library Hadoop starts a `chmod` or a `readlink` for
 * each file that it creates or renames: a hundred for a short streaming query.
 */
public final class PlainLocalFiles extends LocalFileSystem {
    public PlainLocalFiles() {
        super(new Raw());
    }

    private static final class Raw extends RawLocalFileSystem {
        @Override
        public void setPermission(Path path, FsPermission permission) throws IOException {
            var symbols = permission.getUserAction().SYMBOL
                    + permission.getGroupAction().SYMBOL
                    + permission.getOtherAction().SYMBOL;
            Files.setPosixFilePermissions(pathToFile(path).toPath(), PosixFilePermissions.fromString(symbols));
        }

        @Override
        public FileStatus getFileLinkStatus(Path path) throws IOException {
            var isLink = Files.isSymbolicLink(pathToFile(path).toPath());
            return isLink ? super.getFileLinkStatus(path) : getFileStatus(path);
        }
    }

    /** The same for `FileContext`, as `org.apache.hadoop.fs.local.LocalFs`. */
    public static final class Context extends ChecksumFs {
        public Context(URI uri, Configuration configuration) throws Exception {
            super(new RawContext(configuration));
        }
    }

    private static final class RawContext extends DelegateToFileSystem {
        RawContext(Configuration configuration) throws Exception {
            super(FsConstants.LOCAL_FS_URI, new Raw(), configuration, FsConstants.LOCAL_FS_URI.getScheme(), false);
        }

        @Override
        public int getUriDefaultPort() {
            return -1;
        }

        @Override
        public FsServerDefaults getServerDefaults(Path path) throws IOException {
            return LocalConfigKeys.getServerDefaults();
        }

        @Override
        public FsServerDefaults getServerDefaults() throws IOException {
            return LocalConfigKeys.getServerDefaults();
        }

        @Override
        public boolean isValidName(String name) {
            return true;
        }
    }
}
