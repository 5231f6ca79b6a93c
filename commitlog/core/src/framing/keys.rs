//! Keys for decrypting segments.

use std::collections::HashMap;
use std::fmt;

/// Key bytes by alias. `Debug` shows only the aliases.
#[derive(Clone, Default)]
pub struct Keys(HashMap<String, Vec<u8>>);

impl Keys {
    pub fn new(keys: HashMap<String, Vec<u8>>) -> Self {
        Self(keys)
    }

    /// Returns the key for an alias from a segment's header. Java keystores write aliases in lower
    /// case and ignore case in lookups (`JKSKeyProvider`).
    pub fn get(&self, alias: &str) -> Option<&[u8]> {
        let key = self
            .0
            .get(alias)
            .or_else(|| self.0.get(&alias.to_lowercase()));
        key.map(Vec::as_slice)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.0.keys()).finish()
    }
}
