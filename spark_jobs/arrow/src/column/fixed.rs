use arrow_array::ArrowPrimitiveType;
use arrow_array::builder::{ArrayBuilder, PrimitiveBuilder};
use commitlog_core::cql_type::CqlType;

use super::{Column, one_cell};
use crate::{Misfit, Rendering, arrow_type};

type Read<T> = fn(&[u8]) -> Result<<T as ArrowPrimitiveType>::Native, Misfit>;

/// Types that become fixed-size numbers in Arrow, such as `int`, `date` and `counter`.
struct Fixed<T: ArrowPrimitiveType> {
    cql_type: CqlType,
    read: Read<T>,
    builder: PrimitiveBuilder<T>,
}

pub fn boxed<T: ArrowPrimitiveType>(cql_type: &CqlType, read: Read<T>) -> Box<dyn Column> {
    Box::new(Fixed {
        cql_type: cql_type.clone(),
        read,
        builder: PrimitiveBuilder::<T>::new()
            .with_data_type(arrow_type(cql_type, Rendering::Typed)),
    })
}

impl<T: ArrowPrimitiveType> Column for Fixed<T> {
    fn append(&mut self, bytes: Option<&[u8]>) -> Result<(), Misfit> {
        match bytes {
            None | Some([]) => self.builder.append_null(),
            Some(bytes) => self.builder.append_value((self.read)(bytes)?),
        }
        Ok(())
    }

    one_cell!();
}
