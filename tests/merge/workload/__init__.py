"""Random tables and random statements for them, made so that writes meet: few keys, forced ties.

Everything comes from one `random.Random`; the same seed gives the same tables and statements.
"""
