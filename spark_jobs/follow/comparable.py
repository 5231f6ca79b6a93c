"""Values that Spark can compare and hash."""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructType


def comparable(value: Column, kind: DataType) -> Column:
    """A value without maps, whose order is not defined, with marks for nulls, which hashes skip,
    and with numbers as text, because 0.0 equals -0.0 in Spark."""
    if isinstance(kind, (FloatType, DoubleType)):
        return value.cast("string")
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda each: comparable(each, kind.elementType))
    if isinstance(kind, MapType):

        def entry(each: Column) -> Column:
            return F.struct(
                comparable(each["key"], kind.keyType), comparable(each["value"], kind.valueType)
            )

        return F.array_sort(F.transform(F.map_entries(value), entry))
    if isinstance(kind, StructType):
        fields = [value[each.name] for each in kind.fields]
        values = [
            comparable(field, each.dataType)
            for field, each in zip(fields, kind.fields, strict=True)
        ]
        nulls = F.array(*(field.isNull() for field in fields))
        return F.when(value.isNotNull(), F.struct(nulls, *values))
    return value
