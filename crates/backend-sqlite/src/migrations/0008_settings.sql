-- Settings of the store: small values that are fixed when they are first needed, by name.
CREATE TABLE setting (
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- The engine processes on this file, and how often each has sent a heartbeat.
CREATE TABLE engine (
    id    BLOB    NOT NULL PRIMARY KEY,
    beats INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
