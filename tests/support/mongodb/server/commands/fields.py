"""Fields of commands that the server parses strictly: it rejects all others.

They are those of `find_command.idl`, `getmore_command.idl`, `kill_cursors.idl` and
`aggregate_command.idl`; those of every command are in `generic_argument.idl`.
"""

from tests.support.mongodb.server.errors import CommandError
from tests.support.mongodb.server.releases import Release
from tests.support.mongodb.server.wire import Document

_GENERIC = (
    "$audit $client $clusterTime $configServerState $configTime $db $oplogQueryData $queryOptions "
    "$readPreference $replData $topologyTime apiDeprecationErrors apiStrict apiVersion autocommit "
    "comment coordinator databaseVersion help lsid maxTimeMS maxTimeMSOpOnly readConcern "
    "shardVersion startTransaction stmtId stmtIds tracking_info txnNumber txnRetryCounter "
    "writeConcern"
)
_OWN = {
    "find": "allowDiskUse allowPartialResults awaitData batchSize collation encryptionInformation "
    "filter hint includeQueryStatsMetrics let limit max min mirrored noCursorTimeout oplogReplay "
    "projection readOnce returnKey showRecordId singleBatch skip sort tailable term",
    "getMore": "batchSize collection includeQueryStatsMetrics lastKnownCommittedOpTime term",
    "killCursors": "cursors",
    "aggregate": "allowDiskUse bypassDocumentValidation collation cursor encryptionInformation "
    "explain exchange fromMongos fromRouter hint includeQueryStatsMetrics isMapReduceCommand let "
    "needsMerge needsSortedMerge pipeline querySettings",
}
_FIELDS = {name: {name, *own.split(), *_GENERIC.split()} for name, own in _OWN.items()}


def check_fields(name: str, body: Document, release: Release) -> None:
    """Raises 40415, 9 by an older release, for a field that the command does not have."""
    known = _FIELDS.get(name)
    if known is None:
        return
    for field in body:
        if field not in known:
            code = 40415 if release.has_strict_commands else 9
            raise CommandError(code, f"BSON field '{name}.{field}' is an unknown field.")
