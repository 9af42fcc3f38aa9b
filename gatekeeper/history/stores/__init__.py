"""Where records are kept: a branch, a file or a database, and how they are read and written."""
