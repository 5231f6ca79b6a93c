"""Names and content of files that another user planted."""

from agent.cdc_raw.names import SegmentName

NAME = SegmentName(id=1, version=7)
SECRET = b"root:$6$secret\n"
