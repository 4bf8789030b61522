"""The public dump: everything public as one file a table, and back (docs/dump.md). `tables`, `files` and `package` are
the format and know no Django; `rows` and `restore` are the way out of the database and back in."""
