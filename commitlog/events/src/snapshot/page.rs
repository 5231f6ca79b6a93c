//! Parses the rows of a result in the native protocol (`native_protocol_v4.spec`, §4.2.5.2): the
//! row count, then the length and bytes of each cell.

/// The bytes are not complete rows of the expected width.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{length} bytes do not contain a valid row count and all rows")]
pub struct PageError {
    pub length: usize,
}

/// The rows of one page.
pub struct Page<'b> {
    body: &'b [u8],
    rows: usize,
    width: usize,
    cells: &'b [u8],
}

/// One row: a cell for each selected expression; `None` is a null.
pub struct PageRow<'b> {
    /// Its index in the page.
    pub number: usize,
    cells: Vec<Option<&'b [u8]>>,
    size_bytes: usize,
}

impl<'b> Page<'b> {
    pub fn new(body: &'b [u8], width: usize) -> Result<Self, PageError> {
        let broken = PageError { length: body.len() };
        let (rows, cells) = body.split_first_chunk::<4>().ok_or(broken)?;
        Ok(Self {
            rows: usize::try_from(i32::from_be_bytes(*rows)).map_err(|_| broken)?,
            body,
            width,
            cells,
        })
    }

    pub fn rows(&self) -> impl Iterator<Item = Result<PageRow<'b>, PageError>> + use<'b> {
        let broken = PageError {
            length: self.body.len(),
        };
        let width = self.width;
        let mut rest = self.cells;
        (0..self.rows).map(move |number| {
            let before = rest.len();
            let mut cells = Vec::with_capacity(width);
            for _ in 0..width {
                let (cell, tail) = read_cell(rest).ok_or(broken)?;
                cells.push(cell);
                rest = tail;
            }
            Ok(PageRow {
                number,
                cells,
                size_bytes: before.saturating_sub(rest.len()),
            })
        })
    }
}

impl<'b> PageRow<'b> {
    pub fn cell(&self, index: usize) -> Option<&'b [u8]> {
        self.cells.get(index).copied().flatten()
    }

    /// Returns the size of all cells including their lengths.
    pub fn size_bytes(&self) -> usize {
        self.size_bytes
    }
}

#[inline]
fn read_cell(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    match usize::try_from(i32::from_be_bytes(*length)) {
        Ok(length) => {
            let (cell, rest) = rest.split_at_checked(length)?;
            Some((Some(cell), rest))
        }
        Err(_) => Some((None, rest)),
    }
}
