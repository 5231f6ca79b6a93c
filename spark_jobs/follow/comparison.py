"""Finds the changes of a table whose schema changed, by joining all rows before and after."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DoubleType, FloatType, MapType, StructType

_US = 1_000_000


def comparable(value: Column, kind: DataType) -> Column:
    """Convert a value so that it can be compared and hashed. Maps become sorted arrays, nulls get
    marks, because hashes skip them, and floats become text, because 0.0 equals -0.0 in Spark."""
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


def compared(earlier: DataFrame, later: DataFrame, keys: int, second: int) -> DataFrame:
    """The net changes between two first fills, with the columns of the later one.

    Both have the columns of `Merger.changes_schema`, but different types of `after`. The first
    `keys` columns of `after` are the primary key, which may have been renamed. `before` omits
    columns that only the earlier fill has; a column with an incompatible type is null. All changes
    get `second` as their write time.
    """
    after_type = later.schema["after"].dataType
    assert isinstance(after_type, StructType)
    before = earlier.where(F.col("after").isNotNull()).select(
        "cdc_row_id",
        F.col("token").alias("_token"),
        F.col("ck").alias("_ck"),
        _fitted(earlier, after_type, keys).alias("_before"),
    )
    joined = before.join(later.where(F.col("after").isNotNull()), "cdc_row_id", "full")
    was, now = F.col("_before"), F.col("after")
    is_same = comparable(was, after_type).eqNullSafe(comparable(now, after_type))
    op = F.when(was.isNull(), "c").when(now.isNull(), "d").when(~is_same, "u")
    has_op = op.isNotNull()
    changes = joined.select(
        "cdc_row_id",
        F.coalesce("token", "_token").alias("token"),
        F.coalesce("ck", "_ck").alias("ck"),
        F.lit(0).alias("seq"),
        F.lit(True).alias("is_last"),
        was.isNotNull().alias("existed"),
        op.alias("op"),
        F.when(has_op, "write").alias("cause"),
        F.when(has_op, F.lit(second * _US)).cast("bigint").alias("ts_us"),
        F.when(has_op, was).alias("before"),
        F.when(has_op, now).alias("after"),
        "next_expiry_s",
        F.lit(None).cast("string").alias("rejected"),
    )
    # `has_op` would take `after` from the columns above.
    is_needed = F.col("op").isNotNull() | F.col("next_expiry_s").isNotNull()
    rejected = later.where(F.col("rejected").isNotNull())
    return changes.where(is_needed).select(*later.columns).unionByName(rejected)


def _fitted(rows: DataFrame, wanted: StructType, keys: int) -> Column:
    """Convert the struct `after` of `rows` to the wanted fields. The first `keys` fields are the
    primary key, whose columns may have had different names."""
    found = rows.schema["after"].dataType
    assert isinstance(found, StructType)
    # A key may have the name of a dropped column, and a new column a key's former name.
    names = {name: name for name in found.names[keys:]}
    names |= dict(zip(wanted.names[:keys], found.names[:keys], strict=True))
    fields = []
    for field in wanted:
        name = names.get(field.name)
        if name is not None and _leads_to(found[name].dataType, field.dataType):
            value = _converted(F.col("after")[name], found[name].dataType, field.dataType)
        else:
            value = F.lit(None).cast(field.dataType)
        fields.append(value.alias(field.name))
    return F.struct(*fields)


def _leads_to(found: DataType, wanted: DataType) -> bool:
    """Whether ALTER TYPE can turn one type into the other, by appending or renaming fields."""
    match found, wanted:
        case (StructType(), StructType()):
            pairs = zip(found, wanted, strict=False)
            return len(found) <= len(wanted) and all(
                _leads_to(old.dataType, new.dataType) for old, new in pairs
            )
        case (ArrayType(), ArrayType()):
            return _leads_to(found.elementType, wanted.elementType)
        case (MapType(), MapType()):
            is_key = _leads_to(found.keyType, wanted.keyType)
            return is_key and _leads_to(found.valueType, wanted.valueType)
    return found == wanted


def _converted(value: Column, found: DataType, wanted: DataType) -> Column:
    """Convert a value to a type with renamed or appended fields. Appended fields are null."""
    if found == wanted:
        return value
    match found, wanted:
        case (StructType(), StructType()):
            fields = [
                _converted(value.getField(old.name), old.dataType, new.dataType).alias(new.name)
                for old, new in zip(found, wanted, strict=False)
            ]
            added = wanted.fields[len(found) :]
            fields += [F.lit(None).cast(each.dataType).alias(each.name) for each in added]
            return F.when(value.isNotNull(), F.struct(*fields))
        case (ArrayType(), ArrayType()):
            old, new = found.elementType, wanted.elementType
            return F.transform(value, lambda each: _converted(each, old, new))
        case (MapType(), MapType()):
            return F.map_from_entries(
                F.transform(
                    F.map_entries(value),
                    lambda each: F.struct(
                        _converted(each["key"], found.keyType, wanted.keyType),
                        _converted(each["value"], found.valueType, wanted.valueType),
                    ),
                )
            )
    return value
