-- Follow-up work and when the engine runs it at the latest, and the counters of executions that are not
-- zero.
CREATE TABLE continuation (
    what BLOB    NOT NULL PRIMARY KEY,
    due  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX continuation_due ON continuation (due, what);

CREATE TABLE tally (
    owner   BLOB    NOT NULL,
    counter INTEGER NOT NULL,
    value   INTEGER NOT NULL,
    PRIMARY KEY (owner, counter)
) STRICT, WITHOUT ROWID;
