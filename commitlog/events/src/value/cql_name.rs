use std::fmt::Write as _;

use commitlog_core::cql_type::CqlType;

/// Returns the CQL spelling of a type, for messages: `map<text, tuple<int, ks.address>>`.
pub fn cql_name(ty: &CqlType) -> String {
    let mut name = String::new();
    push(&mut name, ty);
    name
}

fn push(name: &mut String, ty: &CqlType) {
    // Writing into a string cannot fail.
    let _ = match ty {
        CqlType::List(element) => return push_parameters(name, "list", [&**element]),
        CqlType::Set(element) => return push_parameters(name, "set", [&**element]),
        CqlType::Map(key, value) => return push_parameters(name, "map", [&**key, &**value]),
        CqlType::Tuple(fields) => return push_parameters(name, "tuple", fields),
        CqlType::Udt(user_type) => write!(name, "{}.{}", user_type.keyspace, user_type.name),
        CqlType::Vector(element, dimension) => {
            name.push_str("vector<");
            push(name, element);
            write!(name, ", {dimension}>")
        }
        CqlType::Custom(class) => write!(name, "'{class}'"),
        native => name.write_str(native.native_names().unwrap_or_default().0),
    };
}

fn push_parameters<'t>(
    name: &mut String,
    outer: &str,
    parameters: impl IntoIterator<Item = &'t CqlType>,
) {
    name.push_str(outer);
    let mut separator = "<";
    for parameter in parameters {
        name.push_str(separator);
        push(name, parameter);
        separator = ", ";
    }
    name.push('>');
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::float_cmp)]
mod tests {
    use super::*;

    #[test]
    fn nested_types_are_named_as_in_cql() {
        let ty = CqlType::Map(
            Box::new(CqlType::Text),
            Box::new(CqlType::Tuple(vec![
                CqlType::Int,
                CqlType::Vector(Box::new(CqlType::Float), 3),
            ])),
        );
        assert_eq!(cql_name(&ty), "map<text, tuple<int, vector<float, 3>>>");
    }
}
