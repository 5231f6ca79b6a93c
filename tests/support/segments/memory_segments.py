"""What tests of the parser's memory read."""

from uuid import UUID

NAME = "CommitLog-7-1.log"
TABLE_ID = UUID("5a1c395e-b41f-11e5-9f22-ba0be0483c18")
SCHEMA_TEXT = (
    f"CREATE TABLE k.t (p text, c int, v text, PRIMARY KEY (p, c)) "
    f"WITH ID = {TABLE_ID} AND cdc = true"
)


READ = """
import json, os, re, sys
from pathlib import Path
import commitlog

def peak_kib():
    # Unlike the peak that getrusage gives, this one begins with the program.
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

schema = commitlog.Schema.from_cql(sys.argv[2])
event_format = commitlog.EventFormat(topic_prefix="t", cluster="c", node_id="n")
keys = {alias: bytes.fromhex(key) for alias, key in json.loads(sys.argv[3]).items()}
before_kib = peak_kib()
mutations = gaps = 0
causes = []
for path in sys.argv[1].split(os.pathsep):
    reader = commitlog.SegmentReader(path, keys=keys)
    try:
        if sys.argv[4] == "scan":
            mutations += reader.scan(schema).mutations
        else:
            stop = "full"
            abandoned = []
            while stop != "end":
                batch = reader.read(schema, event_format, complete=True, abandoned=abandoned)
                mutations += batch.mutations
                stop = batch.stop
                if batch.blocked is not None:
                    abandoned.append((batch.blocked.table_id, batch.blocked.column))
    except commitlog.SegmentKeyError:
        # A damaged chunk cannot be told from a wrong key where there is no other.
        pass
    gaps += len(reader.gaps)
    causes += [gap.cause for gap in reader.gaps]
print(json.dumps({"before": before_kib, "peak": peak_kib(), "mutations": mutations,
                  "gaps": gaps, "causes": causes}))
"""
"""Reads all segments, one after the other."""
