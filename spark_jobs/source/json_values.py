"""JSON of records, without the limits of Spark's defaults. No other module parses JSON in Spark.

Jackson rejects texts of 20 million characters, numbers of 1,000 digits and 1,000 levels. Spark's
`get_json_object` then returns null, as for a missing member. It has no option for these limits.
"""

from pyspark.sql import Column
from pyspark.sql import functions as F

_MOST = str((1 << 31) - 1)
_NO_LIMITS = {"maxStringLen": _MOST, "maxNumLen": _MOST, "maxNestingDepth": _MOST}
UNREAD = "_unread"
"""The member with the whole text if any part of it does not fit the schema; otherwise null."""


def json_value(text: Column, members: str) -> Column:
    """A struct of these members, such as `id: string`, and of `UNREAD`.

    A member that does not fit is null, as an absent one. Only `UNREAD` tells them apart, so every
    caller must check it.
    """
    schema = f"struct<{members}, {UNREAD}: string>"
    return F.from_json(text, schema, {"columnNameOfCorruptRecord": UNREAD, **_NO_LIMITS})
