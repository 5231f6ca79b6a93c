//! The keys that encrypted segments are read with.

use std::collections::HashMap;
use std::fmt;

/// Key bytes by alias. They are shown nowhere.
#[derive(Clone, Default)]
pub struct Keys(HashMap<String, Vec<u8>>);

impl Keys {
    pub fn new(keys: HashMap<String, Vec<u8>>) -> Self {
        Self(keys)
    }

    /// The key of an alias as a segment's header writes it. Keystores of Java write aliases in
    /// lower case and look them up without regard to it (`JKSKeyProvider`).
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
