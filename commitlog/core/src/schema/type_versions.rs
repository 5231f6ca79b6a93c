//! Versions of one type from different sources and times: user types gain fields, and dropped
//! columns have tuples instead of user types (`AbstractType#expandUserTypes`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::type_expression::TypeExpression;
use super::type_name::{UserTypeDeclaration, UserTypes};
use crate::cql_type::{CqlType, UserType, UserTypeField};

/// Maximum number of definitions of one user type; older definitions no longer matter.
const KEPT_VERSIONS: usize = 16;

/// Whether both are versions of one type: fields of user types may be missing at the end, have
/// different names, or be in a tuple.
pub(super) fn is_same(a: &CqlType, b: &CqlType) -> bool {
    let parts_are_same = || {
        let pairs = a.parts().into_iter().zip(b.parts());
        pairs.into_iter().all(|(a, b)| is_same(a, b))
    };
    match (a, b) {
        (CqlType::List(_), CqlType::List(_))
        | (CqlType::Set(_), CqlType::Set(_))
        | (CqlType::Map(..), CqlType::Map(..))
        | (CqlType::Udt(_), CqlType::Tuple(_))
        | (CqlType::Tuple(_), CqlType::Udt(_)) => parts_are_same(),
        (CqlType::Vector(_, n), CqlType::Vector(_, m)) => n == m && parts_are_same(),
        (CqlType::Tuple(a), CqlType::Tuple(b)) => a.len() == b.len() && parts_are_same(),
        (CqlType::Udt(a), CqlType::Udt(b)) => {
            let has_same_name = (&a.keyspace, &a.name) == (&b.keyspace, &b.name);
            Arc::ptr_eq(a, b) || has_same_name && parts_are_same()
        }
        _ => a == b,
    }
}

/// Joins two versions of one type ([`is_same`]): more fields win, otherwise the newer version.
pub(super) fn join_types(newer: &CqlType, older: &CqlType) -> CqlType {
    let boxed = |newer: &CqlType, older: &CqlType| Box::new(join_types(newer, older));
    match (newer, older) {
        (CqlType::List(a), CqlType::List(b)) => CqlType::List(boxed(a, b)),
        (CqlType::Set(a), CqlType::Set(b)) => CqlType::Set(boxed(a, b)),
        (CqlType::Map(ka, va), CqlType::Map(kb, vb)) => CqlType::Map(boxed(ka, kb), boxed(va, vb)),
        (CqlType::Vector(a, n), CqlType::Vector(b, _)) => CqlType::Vector(boxed(a, b), *n),
        (CqlType::Tuple(a), CqlType::Tuple(b)) => {
            CqlType::Tuple(a.iter().zip(b).map(|(a, b)| join_types(a, b)).collect())
        }
        (CqlType::Udt(a), CqlType::Udt(b)) if Arc::ptr_eq(a, b) => newer.clone(),
        (CqlType::Udt(a), CqlType::Udt(b)) => {
            let (longer, is_newer) = if a.fields.len() >= b.fields.len() {
                (a, true)
            } else {
                (b, false)
            };
            let other = if is_newer { b } else { a };
            let fields = longer.fields.iter().enumerate().map(|(place, field)| {
                let cql_type = match other.fields.get(place) {
                    Some(other) if is_newer => join_types(&field.cql_type, &other.cql_type),
                    Some(other) => join_types(&other.cql_type, &field.cql_type),
                    None => field.cql_type.clone(),
                };
                UserTypeField {
                    name: field.name.clone(),
                    cql_type,
                }
            });
            CqlType::Udt(Arc::new(UserType {
                keyspace: longer.keyspace.clone(),
                name: longer.name.clone(),
                fields: fields.collect(),
            }))
        }
        (CqlType::Tuple(fields), CqlType::Udt(user_type))
            if user_type.fields.len() >= fields.len() =>
        {
            older.clone()
        }
        _ => newer.clone(),
    }
}

/// A definition of a user type, and the first and last time at which it was seen, in microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TypeVersion {
    pub first_us: i64,
    pub last_us: i64,
    pub fields: Vec<(String, TypeExpression)>,
}

/// All known definitions of user types by keyspace and name, ordered by the time at which they were
/// last seen.
#[derive(Debug, Clone, Default)]
pub(super) struct TypeVersions {
    versions: BTreeMap<(String, String), Vec<TypeVersion>>,
}

impl TypeVersions {
    pub fn from_declarations(declarations: &[UserTypeDeclaration], seen_us: i64) -> Self {
        let mut types = Self::default();
        for declaration in declarations {
            let version = TypeVersion {
                first_us: seen_us,
                last_us: seen_us,
                fields: declaration.fields.clone(),
            };
            types.add(&declaration.keyspace, &declaration.name, version);
        }
        types
    }

    /// Iterates over all definitions with their keyspaces and names, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str, &TypeVersion)> {
        self.versions
            .iter()
            .flat_map(|((keyspace, name), versions)| {
                let versions = versions.iter();
                versions.map(move |version| (keyspace.as_str(), name.as_str(), version))
            })
    }

    /// Marks all definitions as seen at `seen_us`.
    pub fn seen_at(mut self, seen_us: i64) -> Self {
        for version in self.versions.values_mut().flatten() {
            (version.first_us, version.last_us) = (seen_us, seen_us);
        }
        self
    }

    pub fn add(&mut self, keyspace: &str, name: &str, version: TypeVersion) {
        let key = (keyspace.to_owned(), name.to_owned());
        let versions = self.versions.entry(key).or_default();
        match versions.iter_mut().find(|v| v.fields == version.fields) {
            Some(known) => {
                known.first_us = known.first_us.min(version.first_us);
                known.last_us = known.last_us.max(version.last_us);
            }
            None => versions.push(version),
        }
        versions.sort_by_key(|v| v.last_us);
        if versions.len() > KEPT_VERSIONS {
            versions.remove(0);
        }
    }

    pub fn join(&mut self, other: &Self) {
        for (keyspace, name, version) in other.iter() {
            self.add(keyspace, name, version.clone());
        }
    }

    /// Whether both have the same definitions in the same order, regardless of when they were seen.
    pub fn is_same(&self, other: &Self) -> bool {
        self.versions.len() == other.versions.len()
            && self.versions.iter().all(|(key, versions)| {
                let fields = |versions: &[TypeVersion]| -> Vec<_> {
                    versions.iter().map(|v| v.fields.clone()).collect()
                };
                let others = other.versions.get(key);
                others.is_some_and(|others| fields(others) == fields(versions))
            })
    }

    /// Returns the types of a keyspace at a time: for each type, the newest definition by then,
    /// otherwise the oldest. Types that cannot be resolved are omitted.
    pub fn types_at(&self, keyspace: &str, time_us: i64) -> UserTypes {
        let versions = self.versions.iter().filter(|((k, _), _)| k == keyspace);
        let declarations = versions.filter_map(|((keyspace, name), versions)| {
            let seen = versions.iter().filter(|v| v.first_us <= time_us);
            let version = seen
                .max_by_key(|v| v.first_us)
                .or_else(|| versions.iter().min_by_key(|v| v.first_us))?;
            Some(declaration(keyspace, name, version))
        });
        UserTypes::resolve_what_can_be(declarations.collect())
    }

    /// Returns all definitions of the types of a keyspace, ordered by the time at which they were
    /// last seen. Nested types are resolved as of that time.
    pub fn definitions(&self, keyspace: &str) -> Vec<Arc<UserType>> {
        let mut versions: Vec<_> = self.iter().filter(|(k, _, _)| *k == keyspace).collect();
        versions.sort_by_key(|(_, _, version)| version.last_us);
        let resolved = versions
            .into_iter()
            .filter_map(|(keyspace, name, version)| {
                let types = self.types_at(keyspace, version.last_us);
                types.resolve_one(&declaration(keyspace, name, version))
            });
        resolved.collect()
    }
}

fn declaration(keyspace: &str, name: &str, version: &TypeVersion) -> UserTypeDeclaration {
    UserTypeDeclaration {
        keyspace: keyspace.to_owned(),
        name: name.to_owned(),
        fields: version.fields.clone(),
    }
}

/// Updates the user types of a type to `definitions` (oldest first).
pub(super) fn grow(cql_type: &CqlType, definitions: &[Arc<UserType>]) -> CqlType {
    let CqlType::Udt(_) = cql_type else {
        return cql_type.map_parts(|part| grow(part, definitions));
    };
    let mut known = cql_type.clone();
    for definition in definitions {
        let definition = CqlType::Udt(Arc::clone(definition));
        if is_same(&definition, &known) {
            known = join_types(&definition, &known);
        }
    }
    known
}
