"""The life cycle of segments and their offsets: pure values and decisions."""
