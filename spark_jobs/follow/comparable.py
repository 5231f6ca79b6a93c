"""Values that Spark can compare and hash."""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType


def comparable(value: Column, kind: DataType) -> Column:
    """A value without maps, whose order is not defined, and with marks for nulls, which hashes
    skip."""
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
