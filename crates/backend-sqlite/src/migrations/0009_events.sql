-- What happened in the namespaces whose feed is on: numbered from 1 without gaps, in the order of commits.
CREATE TABLE event (
    namespace TEXT    NOT NULL,
    seq       INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    event     BLOB    NOT NULL,
    PRIMARY KEY (namespace, seq)
) STRICT, WITHOUT ROWID;

-- The number of the last event of a namespace that was removed.
CREATE TABLE event_removed (
    namespace TEXT    NOT NULL PRIMARY KEY,
    seq       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
