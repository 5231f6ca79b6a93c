//! The memory limit of this process, and the share for one section or record.
//!
//! A few kilobytes can decompress to hundreds of megabytes. If the process then exceeded its limit,
//! the kernel would kill it after every restart. So sizes are checked before any allocation.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const MIB: u64 = 1 << 20;
/// Divisor of the limit for one section, stored and decoded. The interpreter, the window of
/// unacknowledged events and the sink use the rest.
const SECTION_SHARE: u64 = 2;
/// Divisor of the limit for the events of one mutation; the sink and a dead letter copy them.
const EVENT_SHARE: u64 = 8;

/// A limit and its origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    pub bytes: u64,
    pub origin: &'static str,
}

/// A size that exceeds its share of the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TooLarge {
    subject: &'static str,
    bytes: u64,
    share: u64,
    limit: MemoryLimit,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes.div_ceil(MIB);
        let MemoryLimit { bytes, origin } = self.limit;
        write!(
            f,
            "{} of {} MiB exceeds the {} MiB allowed by the memory limit of {} MiB ({origin}). \
             Raise the limit to {} MiB, restart, and run `agent quarantine retry`",
            self.subject,
            mib(self.bytes),
            bytes / self.share / MIB,
            bytes / MIB,
            mib(self.bytes.saturating_mul(self.share)),
        )
    }
}

impl MemoryLimit {
    pub const NONE: Self = Self {
        bytes: u64::MAX,
        origin: "no limit",
    };

    /// Returns the limit of this process, read at the first call: the lowest of its cgroup limits
    /// (v1 and v2), its resource limits and the machine's memory.
    pub fn of_process() -> Self {
        static LIMIT: OnceLock<MemoryLimit> = OnceLock::new();
        *LIMIT.get_or_init(|| limit_below(Path::new("/")))
    }

    /// Checks the stored and decoded length of a section.
    pub fn allows_section(self, stored: usize, decoded: usize) -> Result<(), TooLarge> {
        self.allows("a section", stored.saturating_add(decoded), SECTION_SHARE)
    }

    /// Checks the length of a record before it is loaded.
    pub fn allows_record(self, bytes: usize) -> Result<(), TooLarge> {
        self.allows("a mutation", bytes, SECTION_SHARE)
    }

    /// Returns the maximum size of the events of one mutation.
    pub fn event_bytes(self) -> usize {
        usize::try_from(self.bytes / EVENT_SHARE).unwrap_or(usize::MAX)
    }

    pub fn allows_events(self, bytes: usize) -> Result<(), TooLarge> {
        self.allows("a mutation with events", bytes, EVENT_SHARE)
    }

    fn allows(self, subject: &'static str, bytes: usize, share: u64) -> Result<(), TooLarge> {
        let bytes = bytes as u64;
        if bytes <= self.bytes / share {
            return Ok(());
        }
        Err(TooLarge {
            subject,
            bytes,
            share,
            limit: self,
        })
    }
}

/// Reads the limit from the files under a file system root.
fn limit_below(root: &Path) -> MemoryLimit {
    let text = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let cgroups = cgroup_files(&text("proc/self/cgroup"))
        .into_iter()
        .filter_map(|file| number(&std::fs::read_to_string(root.join(file)).ok()?))
        .map(|bytes| ("the memory limit of its cgroup", bytes));
    let limits = text("proc/self/limits");
    let resources = [
        ("Max address space", "RLIMIT_AS"),
        ("Max data size", "RLIMIT_DATA"),
    ]
    .into_iter()
    .filter_map(|(row, name)| Some((name, number(row_of(&limits, row)?)?)));
    let machine = row_of(&text("proc/meminfo"), "MemTotal:")
        .and_then(number)
        .map(|kib| ("the memory of the machine", kib.saturating_mul(1024)));
    cgroups
        .chain(resources)
        .chain(machine)
        .map(|(origin, bytes)| MemoryLimit { bytes, origin })
        .min_by_key(|limit| limit.bytes)
        .unwrap_or(MemoryLimit::NONE)
}

/// Returns the limit files of the cgroups in `/proc/self/cgroup` and of all their ancestors. In a
/// container without a private cgroup namespace, the container's group is mounted at the root.
fn cgroup_files(cgroups: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in cgroups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let (mount, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            controllers if controllers.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let groups = Path::new(path.trim_start_matches('/')).ancestors();
        files.extend(groups.map(|group| Path::new(mount).join(group).join(file)));
    }
    files
}

/// Returns the rest of the line that starts with `name`.
fn row_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name))
}

/// Parses the number at the start of a text; `None` for `max` and `unlimited`.
fn number(text: &str) -> Option<u64> {
    text.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A root with the files of a kernel.
    fn root(name: &str, files: &[(&str, &str)]) -> PathBuf {
        let root = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        for (path, text) in files {
            let file = root.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        root
    }

    fn limit(name: &str, files: &[(&str, &str)]) -> MemoryLimit {
        let root = root(name, files);
        let found = limit_below(&root);
        std::fs::remove_dir_all(root).unwrap_or_default();
        found
    }

    #[test]
    fn lowest_memory_limit_counts() {
        let meminfo = ("proc/meminfo", "MemTotal:  1000 kB\nMemFree: 5 kB\n");
        let limits = (
            "proc/self/limits",
            "Limit Soft Hard Units\nMax data size  unlimited  unlimited  bytes\n\
             Max address space  900000  unlimited  bytes\n",
        );
        assert_eq!(limit("none", &[]), MemoryLimit::NONE);
        assert_eq!(limit("machine", &[meminfo]).bytes, 1_024_000);
        assert_eq!(limit("resource", &[meminfo, limits]).origin, "RLIMIT_AS");
        // A pod: the container's group has no limit, but its parent has.
        let v2 = [
            meminfo,
            limits,
            ("proc/self/cgroup", "0::/pods/one/app\n"),
            ("sys/fs/cgroup/pods/one/app/memory.max", "max\n"),
            ("sys/fs/cgroup/pods/one/memory.max", "800000\n"),
            ("sys/fs/cgroup/pods/memory.max", "850000\n"),
        ];
        assert_eq!(limit("v2", &v2).bytes, 800_000);
        // Inside a container its own group is the root.
        let v1 = [
            limits,
            ("proc/self/cgroup", "5:cpu:/docker/x\n4:memory:/docker/x\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "700000\n"),
        ];
        assert_eq!(limit("v1", &v1).bytes, 700_000);
    }

    #[test]
    fn refusal_reports_limit_and_sufficient_limit() {
        let limit = MemoryLimit {
            bytes: 448 * MIB,
            origin: "the memory limit of its cgroup",
        };
        let refused = limit.allows_section(16 << 10, 511 << 20).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "a section of 512 MiB exceeds the 224 MiB allowed by the memory limit of 448 MiB (the \
             memory limit of its cgroup). Raise the limit to 1023 MiB, restart, and run `agent \
             quarantine retry`"
        );
        assert_eq!(limit.allows_section(16 << 10, 200 << 20), Ok(()));
    }

    proptest! {
        #[test]
        fn limit_suggested_by_refusal_is_sufficient(
            bytes in 0_usize..1 << 40, limit in 0_u64..1 << 33, share in 1_u64..20,
        ) {
            let limit = MemoryLimit { bytes: limit, origin: "" };
            if let Err(refused) = limit.allows("", bytes, share) {
                let text = refused.to_string();
                let named = text.split("Raise the limit to ").nth(1).unwrap();
                let enough = MemoryLimit { bytes: number(named).unwrap() * MIB, origin: "" };
                prop_assert!(enough.allows("", bytes, share).is_ok());
            }
        }
    }
}
