//! The extension module.
