use commitlog_core::cql_type::CqlType;

/// Whether a type, or a type inside it, is wanted.
pub fn holds(cql_type: &CqlType, is_wanted: &dyn Fn(&CqlType) -> bool) -> bool {
    is_wanted(cql_type)
        || match cql_type {
            CqlType::List(element) | CqlType::Set(element) | CqlType::Vector(element, _) => {
                holds(element, is_wanted)
            }
            CqlType::Map(key, value) => holds(key, is_wanted) || holds(value, is_wanted),
            CqlType::Tuple(_) | CqlType::Udt(_) => {
                let mut fields = named_fields(cql_type).into_iter();
                fields.any(|(_, ty)| holds(ty, is_wanted))
            }
            _ => false,
        }
}

/// The fields of a tuple (`field1`, `field2`, …) or a user type; empty for other types.
pub fn named_fields(cql_type: &CqlType) -> Vec<(String, &CqlType)> {
    match cql_type {
        CqlType::Tuple(fields) => fields
            .iter()
            .zip(1..)
            .map(|(ty, number): (_, u32)| (format!("field{number}"), ty))
            .collect(),
        CqlType::Udt(user_type) => user_type
            .fields
            .iter()
            .map(|field| (field.name.clone(), &field.cql_type))
            .collect(),
        _ => Vec::new(),
    }
}
