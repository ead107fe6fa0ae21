-- Executions, what is stored beside them, and the indexes by which they are found.
--
-- The record decides. Every other table but `blob` and `attempt` is an index: written from the
-- entries of a change and from nothing else.

-- What the store knows of itself. `clock` is the last moment, in milliseconds, at which anything
-- was written.
CREATE TABLE meta (
    name  TEXT    NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('clock', 0);

-- One record per execution. The version is also in the record; here a write checks it.
CREATE TABLE execution (
    id      BLOB    NOT NULL PRIMARY KEY,
    version INTEGER NOT NULL,
    record  BLOB    NOT NULL
) STRICT, WITHOUT ROWID;

-- Bytes beside a record. Part -1 is the input, part n the result of run n. With row ids, new bytes
-- go to the end of the table whatever their size; measured, that is worth the second tree.
CREATE TABLE blob (
    id    BLOB    NOT NULL,
    part  INTEGER NOT NULL,
    bytes BLOB    NOT NULL,
    PRIMARY KEY (id, part)
) STRICT;

-- Attempts that ended before the newest one, which is in the record.
CREATE TABLE attempt (
    id      BLOB    NOT NULL,
    number  INTEGER NOT NULL,
    attempt BLOB    NOT NULL,
    PRIMARY KEY (id, number)
) STRICT, WITHOUT ROWID;

-- Claimable work, lowest score first, one queue per lane and class.
CREATE TABLE queue (
    namespace TEXT    NOT NULL,
    lane      TEXT    NOT NULL,
    class     TEXT    NOT NULL,
    score     INTEGER NOT NULL,
    id        BLOB    NOT NULL,
    PRIMARY KEY (namespace, lane, class, score, id)
) STRICT, WITHOUT ROWID;

-- The classes, other than the empty one, that have something queued.
CREATE TABLE class (
    namespace TEXT NOT NULL,
    lane      TEXT NOT NULL,
    class     TEXT NOT NULL,
    PRIMARY KEY (namespace, lane, class)
) STRICT, WITHOUT ROWID;

-- When time next does something to an execution.
CREATE TABLE timer (
    due INTEGER NOT NULL,
    id  BLOB    NOT NULL,
    PRIMARY KEY (due, id)
) STRICT, WITHOUT ROWID;

-- The claim or grant call that holds an execution.
CREATE TABLE request (
    request BLOB NOT NULL,
    id      BLOB NOT NULL,
    PRIMARY KEY (request, id)
) STRICT, WITHOUT ROWID;

-- Every execution of a namespace, by the time it was made.
CREATE TABLE list (
    namespace TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    id        BLOB    NOT NULL,
    PRIMARY KEY (namespace, created, id)
) STRICT, WITHOUT ROWID;

-- What a person should look at.
CREATE TABLE attention (
    namespace TEXT    NOT NULL,
    attention TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    id        BLOB    NOT NULL,
    PRIMARY KEY (namespace, attention, created, id)
) STRICT, WITHOUT ROWID;

-- Submitters' own names for executions.
CREATE TABLE idempotency_key (
    namespace TEXT NOT NULL,
    key       TEXT NOT NULL,
    id        BLOB NOT NULL,
    PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;
