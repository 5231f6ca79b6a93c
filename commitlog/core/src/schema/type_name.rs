//! Type names of columns, and the user types that they may refer to.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::marshal_class::NESTING_LIMIT;
use super::opaque::opaque;
use super::type_expression::{TypeExpression, expression};
use super::{Result, SchemaError};
use crate::cql_type::{CqlType, UserType, UserTypeField};

/// User types by keyspace and name.
#[derive(Debug, Clone, Default)]
pub struct UserTypes {
    types: FxHashMap<(String, String), Resolved<Arc<UserType>>>,
}

/// A declared user type, before the types of its fields are resolved.
#[derive(Clone)]
pub(super) struct UserTypeDeclaration {
    pub keyspace: String,
    pub name: String,
    pub fields: Vec<(String, TypeExpression)>,
}

/// A declared user type that cannot be resolved, and the reason.
pub(super) struct TypeFailure {
    pub keyspace: String,
    pub name: String,
    pub error: SchemaError,
}

/// A value and the nesting depth of its types.
#[derive(Debug, Clone)]
struct Resolved<T> {
    value: T,
    depth: usize,
}

/// The missing user type that another type needs.
struct Unresolved {
    keyspace: String,
    name: String,
    line: usize,
}

impl From<Unresolved> for SchemaError {
    fn from(unknown: Unresolved) -> Self {
        Self::Syntax {
            line: unknown.line,
            reason: format!("there is no type {}.{}", unknown.keyspace, unknown.name),
        }
    }
}

/// Reads a type in the form that `system_schema` and `DESCRIBE` use, or a Java class name.
///
/// User types without a keyspace are looked up in `keyspace`. The returned flag is true for an
/// unfrozen list, set, map or user type: a column of this type is stored cell by cell. A class
/// without a CQL type becomes [`CqlType::Custom`].
///
/// # Errors
/// [`SchemaError::Syntax`] (with line 1 for a text of one line) if the text is not a type, or if it
/// contains a user type that is not in `types`.
pub fn parse_type(text: &str, keyspace: &str, types: &UserTypes) -> Result<(CqlType, bool)> {
    types.resolve_text(text, keyspace)
}

impl UserTypes {
    /// Returns the user type with this name, if it exists.
    pub fn get(&self, keyspace: &str, name: &str) -> Option<&Arc<UserType>> {
        Some(&self.entry(keyspace, name)?.value)
    }

    fn entry(&self, keyspace: &str, name: &str) -> Option<&Resolved<Arc<UserType>>> {
        self.types.get(&(keyspace.to_owned(), name.to_owned()))
    }

    /// Resolves declarations that may refer to each other in any order.
    ///
    /// # Errors
    /// The declaration that cannot be resolved and the reason: an undeclared name or a cycle.
    pub(super) fn resolve_all(declarations: Vec<UserTypeDeclaration>) -> Result<Self, TypeFailure> {
        let (types, failed) = Self::resolve_possible(declarations);
        to_blame(failed).map_or(Ok(types), Err)
    }

    /// Resolves declarations like [`Self::resolve_all`], but omits those that cannot be resolved.
    pub(super) fn resolve_what_can_be(declarations: Vec<UserTypeDeclaration>) -> Self {
        Self::resolve_possible(declarations).0
    }

    /// Returns the resolved types, and the declarations that cannot be resolved.
    fn resolve_possible(
        declarations: Vec<UserTypeDeclaration>,
    ) -> (Self, Vec<(UserTypeDeclaration, Unresolved)>) {
        let mut types = Self::default();
        let mut waiting = declarations;
        loop {
            let before = waiting.len();
            let mut failed = Vec::new();
            for declaration in waiting {
                match types.resolve_declaration(&declaration) {
                    Ok(user_type) => {
                        let key = (declaration.keyspace, declaration.name);
                        types.types.insert(key, user_type);
                    }
                    Err(reason) => failed.push((declaration, reason)),
                }
            }
            if failed.is_empty() || failed.len() == before {
                return (types, failed);
            }
            waiting = failed.into_iter().map(|(waiting, _)| waiting).collect();
        }
    }

    /// Resolves one declaration with these types, if possible.
    pub(super) fn resolve_one(&self, declaration: &UserTypeDeclaration) -> Option<Arc<UserType>> {
        let resolved = self.resolve_declaration(declaration).ok()?;
        Some(resolved.value)
    }

    fn resolve_declaration(
        &self,
        declaration: &UserTypeDeclaration,
    ) -> Result<Resolved<Arc<UserType>>, Unresolved> {
        let mut depth = 0;
        let mut fields = Vec::with_capacity(declaration.fields.len());
        for (name, expression) in &declaration.fields {
            let field = self.nested(expression, &declaration.keyspace)?;
            depth = depth.max(field.depth);
            fields.push(UserTypeField {
                name: name.clone(),
                cql_type: field.value,
            });
        }
        let value = Arc::new(UserType {
            keyspace: declaration.keyspace.clone(),
            name: declaration.name.clone(),
            fields,
        });
        Ok(Resolved { value, depth })
    }

    pub(super) fn resolve_text(&self, text: &str, keyspace: &str) -> Result<(CqlType, bool)> {
        self.resolve(&expression(text)?, keyspace)
    }

    /// Returns the type of an expression, and whether a column of this type is stored cell by cell.
    pub(super) fn resolve(
        &self,
        expression: &TypeExpression,
        keyspace: &str,
    ) -> Result<(CqlType, bool)> {
        let cql_type = self.nested(expression, keyspace)?.value;
        let multi_cell = match expression {
            TypeExpression::Frozen(_) => false,
            TypeExpression::Known(_, multi_cell) => *multi_cell,
            _ => cql_type.can_be_multi_cell(),
        };
        Ok((cql_type, multi_cell))
    }

    fn nested(
        &self,
        expression: &TypeExpression,
        keyspace: &str,
    ) -> Result<Resolved<CqlType>, Unresolved> {
        let mut depth = 0;
        let mut part = |part: &TypeExpression| {
            let part = self.nested(part, keyspace)?;
            depth = depth.max(part.depth + 1);
            Ok(part.value)
        };
        let value = match expression {
            TypeExpression::Known(cql_type, _) => cql_type.clone(),
            TypeExpression::User {
                keyspace: own,
                name,
                line,
            } => return self.user(own.as_deref().unwrap_or(keyspace), name, line.0),
            TypeExpression::Frozen(inner) => return self.nested(inner, keyspace),
            TypeExpression::List(element) => CqlType::List(Box::new(part(element)?)),
            TypeExpression::Set(element) => CqlType::Set(Box::new(part(element)?)),
            TypeExpression::Map(key, value) => {
                CqlType::Map(Box::new(part(key)?), Box::new(part(value)?))
            }
            TypeExpression::Tuple(elements) => {
                CqlType::Tuple(elements.iter().map(part).collect::<Result<_, _>>()?)
            }
            TypeExpression::Vector(element, dimension) => {
                CqlType::Vector(Box::new(part(element)?), *dimension)
            }
        };
        Ok(Resolved { value, depth })
    }

    fn user(
        &self,
        keyspace: &str,
        name: &str,
        line: usize,
    ) -> Result<Resolved<CqlType>, Unresolved> {
        let Some(found) = self.entry(keyspace, name) else {
            return Err(Unresolved {
                keyspace: keyspace.to_owned(),
                name: name.to_owned(),
                line,
            });
        };
        if found.depth > NESTING_LIMIT {
            return Ok(Resolved {
                value: opaque(),
                depth: 0,
            });
        }
        Ok(Resolved {
            value: CqlType::Udt(Arc::clone(&found.value)),
            depth: found.depth + 1,
        })
    }
}

/// Selects the unresolved declaration to report: the first that needs an undeclared type. If there
/// is none, the declarations form a cycle.
fn to_blame(failed: Vec<(UserTypeDeclaration, Unresolved)>) -> Option<TypeFailure> {
    let blamed = failed.iter().position(|(_, unknown)| {
        let names = (&unknown.keyspace, &unknown.name);
        (failed.iter()).all(|(declared, _)| (&declared.keyspace, &declared.name) != names)
    });
    let (declaration, unknown) = failed.into_iter().nth(blamed.unwrap_or(0))?;
    let error = match blamed {
        None => SchemaError::Syntax {
            line: unknown.line,
            reason: format!("type {}.{} contains itself", unknown.keyspace, unknown.name),
        },
        Some(_) => unknown.into(),
    };
    Some(TypeFailure {
        keyspace: declaration.keyspace,
        name: declaration.name,
        error,
    })
}
