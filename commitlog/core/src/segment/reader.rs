//! Reads the records of a segment in order, starting at a logical position.
//!
//! ```no_run
//! # use commitlog_core::segment::{Fill, SegmentReader};
//! # let file = std::fs::File::open("CommitLog-7-1.log").unwrap();
//! let mut segment = SegmentReader::open("CommitLog-7-1.log", file, 0)?;
//! loop {
//!     match segment.fill(None, true)? {
//!         Fill::Records => {
//!             let mut end = segment.position();
//!             for record in segment.records() {
//!                 end = record.end;
//!             }
//!             segment.consume(end);
//!         }
//!         Fill::Gap(gap) => eprintln!("{gap:?}"),
//!         Fill::End => break,
//!     }
//! }
//! # Ok::<(), commitlog_core::error::SegmentError>(())
//! ```

use super::chain::{Chain, Opened, Reach, Section};
use super::file::{SegmentFile, Tail};
use super::gap::Gap;
use super::section::SectionDecoder;
use crate::descriptor::Descriptor;
use crate::framing::Keys;
use crate::memory::MemoryLimit;
use crate::record::{Found, OVERHEAD, Records, inspect};
use crate::segment::Result;
use crate::source::Source;

/// The result of [`SegmentReader::fill`].
#[derive(Debug, PartialEq, Eq)]
pub enum Fill {
    /// At least one whole record is in memory.
    Records,
    /// The reader skipped damage.
    Gap(Gap),
    /// Nothing more is readable.
    End,
}

/// The result of [`SegmentReader::step`].
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A section begins; see [`SegmentReader::section`].
    Section,
    /// At least one whole record is in memory.
    Records,
    /// The reader skipped damage.
    Gap(Gap),
    /// The reader skipped a record with a valid size: it is damaged or exceeds the memory limit.
    BadRecord(Gap),
    /// The section is read to its end; its last `unwritten` bytes are zeros without a record.
    SectionEnd { unwritten: u64 },
    /// The section ends before the position of the reader.
    Skipped,
    /// Nothing more is readable.
    End,
}

/// One segment and a position in it.
///
/// Invariant: the position is the end of a record, or of a gap that the reader reported. It only
/// grows.
pub struct SegmentReader<S> {
    chain: Chain<S>,
    /// Everything before it is consumed.
    position: u64,
}

impl<S: Source> SegmentReader<S> {
    /// Opens a segment that needs no key; see [`Self::open_with_keys`].
    pub fn open(segment: &str, source: S, position: u64) -> Result<Self> {
        Self::open_with_keys(segment, source, position, &Keys::default())
    }

    /// Opens a segment and reads its header. `position` is 0 or the end of a record: the reader
    /// skips the records before it. It decrypts encrypted segments with `keys`.
    pub fn open_with_keys(segment: &str, source: S, position: u64, keys: &Keys) -> Result<Self> {
        let file = SegmentFile::open(segment, source)?;
        let chain = Chain::new(SectionDecoder::new(file, keys)?);
        Ok(Self { chain, position })
    }

    pub fn descriptor(&self) -> &Descriptor {
        self.chain.decoder().file().descriptor()
    }

    /// Returns the file name that the caller passed.
    pub fn segment(&self) -> &str {
        self.chain.decoder().file().name()
    }

    /// Returns a checksum that distinguishes the content from other files with the same name. It
    /// does not change after the first section is synced.
    pub fn fingerprint(&self) -> Result<u32> {
        self.chain.decoder().file().fingerprint()
    }

    /// Returns the logical position up to which everything is consumed.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Sets a logical position from an index file: the chain once led there, so it is damaged if it
    /// ends earlier. The largest position counts.
    pub fn expect_end(&mut self, end: u64) {
        self.chain.expect_end(end);
    }

    /// Sets the number beside COMPLETED in the segment's index, 0 for none. It is the logical end
    /// if the node closed the segment, or the file's length if the node replayed it (§7.4). A chain
    /// of blocks leads to one of the two.
    pub fn expect_completed(&mut self, number: u64) {
        self.chain.expect_completed(number);
    }

    /// Returns the memory limit for sections and records.
    pub fn memory(&self) -> MemoryLimit {
        self.chain.decoder().memory
    }

    /// Replaces the memory limit of the process.
    pub fn limit_memory(&mut self, limit: MemoryLimit) {
        self.chain.decoder_mut().memory = limit;
    }

    /// Returns the section that is being read. A section with a damaged marker begins with a gap
    /// instead of [`Step::Section`].
    pub fn section(&self) -> Option<Section> {
        self.chain.section()
    }

    /// Returns the bytes after the last section of the chain. Even if they look like records, they
    /// are not part of the log: a marker must close its records (§2.4).
    pub fn tail(&self) -> Result<Tail> {
        self.chain.tail()
    }

    /// Whether the segment is stored without blocks: logical and physical positions are equal.
    pub fn is_plain(&self) -> bool {
        self.chain.is_plain()
    }

    /// Returns the records in memory from the current position; empty unless the latest
    /// [`Self::fill`] returned [`Fill::Records`].
    pub fn records(&self) -> Records<'_> {
        let left = (self.section()).map_or(0, |section| section.end.saturating_sub(self.position));
        self.chain.decoder().records(self.position, left)
    }

    /// Moves to `position`, the end of a record of [`Self::records`].
    pub fn consume(&mut self, position: u64) {
        self.position = position;
    }

    /// Loads the next whole record, or reports what it found instead.
    ///
    /// It only reads sections with a logical end of at most `limit`. `complete` means that the file
    /// no longer changes, so an unreadable marker is damaged; otherwise, it is not written yet.
    pub fn fill(&mut self, limit: Option<u64>, complete: bool) -> Result<Fill> {
        loop {
            match self.step(limit, complete)? {
                Step::Records => return Ok(Fill::Records),
                Step::Gap(gap) | Step::BadRecord(gap) => return Ok(Fill::Gap(gap)),
                Step::End => return Ok(Fill::End),
                Step::Section | Step::SectionEnd { .. } | Step::Skipped => {}
            }
        }
    }

    /// Like [`Self::fill`], but also reports the structure between records.
    pub fn step(&mut self, limit: Option<u64>, complete: bool) -> Result<Step> {
        let Some(section) = self.section() else {
            return self.open_section(limit, complete);
        };
        let left = section.end.saturating_sub(self.position);
        let mut found = inspect(self.bytes(), left);
        // A large record needs two loads, because its header contains its size.
        while let Found::NeedsBytes(wanted) = found {
            if let Err(refused) = self.memory().allows_record(wanted) {
                let start = self.position;
                self.position = start + wanted as u64;
                let gap = Gap::new(start, Some(self.position), &refused.to_string());
                return Ok(Step::BadRecord(gap));
            }
            let before = self.bytes().len();
            let decoder = self.chain.decoder_mut();
            decoder.load(self.position, section.end, wanted)?;
            found = inspect(self.bytes(), left);
            if self.bytes().len() <= before {
                break;
            }
        }
        let cause = match found {
            Found::Record(_) => return Ok(Step::Records),
            Found::SectionEnd => return Ok(self.end_section(section)),
            Found::BadPayloadCrc(payload) => {
                let start = self.position;
                let end = start + (payload.len() + OVERHEAD) as u64;
                self.position = end;
                let cause = "the checksum of a record does not match";
                return Ok(Step::BadRecord(Gap::new(start, Some(end), cause)));
            }
            Found::Zero if section.is_open_ended => {
                self.chain.close_section_at(self.position);
                return Ok(Step::SectionEnd { unwritten: 0 });
            }
            Found::Zero if self.is_rest_zero(section)? => {
                return Ok(self.end_unwritten_section(section));
            }
            Found::Zero => "a record was never written (its size is zero)".to_owned(),
            Found::BadSize(size) => {
                format!("a record's size of {size} bytes does not fit into its section")
            }
            Found::BadSizeCrc(size) => {
                format!("the checksum of a record's size ({size}) does not match")
            }
            Found::NeedsBytes(_) => "the file ends inside a section".to_owned(),
        };
        self.skip_damage(section, &cause, complete).map(Step::Gap)
    }

    /// Opens the section after the next marker.
    fn open_section(&mut self, limit: Option<u64>, complete: bool) -> Result<Step> {
        let opened = self.chain.open_next(Reach {
            position: self.position,
            limit,
            is_complete: complete,
        })?;
        if let Some(section) = self.section() {
            self.position = self.position.max(section.start);
        }
        Ok(match opened {
            Opened::Section => Step::Section,
            Opened::Skipped => Step::Skipped,
            Opened::Gap(gap) => Step::Gap(gap),
            Opened::End => Step::End,
        })
    }

    /// Handles the end of a section's bytes: a damaged range or the next section follows.
    fn end_section(&mut self, section: Section) -> Step {
        if let Some(gap) = self.chain.pass_gap() {
            self.position = self.position.max(gap.end.unwrap_or_default());
            return Step::Gap(gap);
        }
        self.chain.close_section();
        match section.claimed_end {
            None => Step::SectionEnd {
                unwritten: section.end.saturating_sub(self.position),
            },
            Some(end) => {
                let cause = "the file is truncated inside a section";
                Step::Gap(Gap::new(section.end, Some(end), cause))
            }
        }
    }

    fn is_rest_zero(&self, section: Section) -> Result<bool> {
        Ok(section.claimed_end.is_none()
            && self.chain.decoder().is_zero(self.position, section.end)?)
    }

    /// Closes a section whose remaining bytes are zeros.
    fn end_unwritten_section(&mut self, section: Section) -> Step {
        let start = self.position;
        let synced_end = self.chain.synced_end(section);
        self.position = section.end;
        self.chain.close_section();
        if synced_end > start {
            let cause = "zeros before the offset in the index file";
            return Step::Gap(Gap::new(start, Some(synced_end), cause));
        }
        Step::SectionEnd {
            unwritten: section.end.saturating_sub(start),
        }
    }

    /// Moves to the next record after damage, if there is one.
    #[cold]
    fn skip_damage(&mut self, section: Section, cause: &str, complete: bool) -> Result<Gap> {
        let start = self.position;
        if complete && let Some(gap) = self.chain.correct_section_end(section, start)? {
            return Ok(gap);
        }
        if section.is_open_ended {
            self.chain.end();
            return Ok(Gap::new(start, None, cause));
        }
        if section.claimed_end.is_none()
            && self.chain.may_search(section, start)?
            && let Some(next) = self.chain.decoder().find_record(start, section.end)?
        {
            self.position = next;
            return Ok(Gap::new(start, Some(next), cause));
        }
        let end = section.claimed_end.unwrap_or(section.end);
        self.position = end;
        self.chain.close_section();
        Ok(Gap::new(start, Some(end), cause))
    }

    fn bytes(&self) -> &[u8] {
        self.chain.decoder().bytes(self.position)
    }
}
