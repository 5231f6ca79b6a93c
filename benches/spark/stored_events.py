"""Events in the form that a version store appends, made from few real ones by other keys."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def repeated(events: DataFrame, times: int) -> DataFrame:
    """The events so many times, each time with other partition keys; the first time unchanged."""
    numbers = events.sparkSession.range(times).toDF("number")
    return with_other_keys(events.crossJoin(numbers), F.col("number")).drop("number")


def with_other_keys(events: DataFrame, number: Column) -> DataFrame:
    """The events with partition keys and tokens that depend on a number; 0 changes nothing."""
    is_first = number == 0
    token = F.when(is_first, F.col("token")).otherwise(F.xxhash64("token", number))
    pk = F.base64(F.unhex(F.lpad(F.hex(token), 16, "0")))
    named = F.regexp_replace("event", '"pk":"[^"]*"', F.concat(F.lit('"pk":"'), pk, F.lit('"')))
    return events.withColumns(
        {"token": token, "event": F.when(is_first, F.col("event")).otherwise(named)}
    )


def written_at(events: DataFrame, ts_us: Column, expires_s: Column | None = None) -> DataFrame:
    """The events with another write time and another value of the column `amount`.

    The values expire at a second if it is not null.
    """
    time = F.concat(F.lit('"ts":'), ts_us.cast("string"))
    if expires_s is not None:
        ttl = F.concat(F.lit(',"ttl":86400,"ldt":'), expires_s.cast("string"))
        time = F.concat(time, F.coalesce(ttl, F.lit("")))
    text = F.regexp_replace("event", F.lit('"ts":[0-9]+'), time)
    # The first characters of base64 are the largest bits of the integer.
    value = F.concat(
        F.lit('"val":"'), F.substring(F.lit("BCDEFGHI"), (ts_us % 8 + 1).cast("int"), F.lit(1))
    )
    return events.withColumn("event", F.regexp_replace(text, F.lit('"val":"[A-I]'), value))


def deleted_at(ts_us: Column) -> Column:
    """The text of an event of a row, as a deletion of this row."""
    written, second = ts_us.cast("string"), F.floor(ts_us / 1_000_000).cast("string")
    deletion = F.concat(F.lit('"del":{"ts":'), written, F.lit(',"ldt":'), second, F.lit("}}}"))
    return F.regexp_replace("event", F.lit('"live":.*$'), deletion)
