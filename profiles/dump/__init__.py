"""The public dump: all public data, one file per table, and its restoration (docs/dump.md).

`tables`, `files` and `package` define the format and do not import Django. `rows` reads the database, and `restore`
writes to it.
"""
