-- Where the store's time stood at the last write, in one row. Times are in milliseconds. `offset_us` is
-- how far `time` is ahead of the system clock, in microseconds; `before_jump` is the time before a jump
-- of the system clock that is still to be confirmed, `jumped` where that jump led to.
CREATE TABLE clock (
    time        INTEGER NOT NULL,
    system_time INTEGER NOT NULL,
    offset_us   INTEGER NOT NULL,
    before_jump INTEGER,
    jumped      INTEGER NOT NULL
) STRICT;

INSERT INTO clock SELECT value, value, 0, NULL, 0 FROM meta WHERE name = 'clock';
DROP TABLE meta;

-- When a finished execution is removed: the timers that wait for a jump of the clock to be confirmed.
-- Executions that were finished before this table was made have theirs among the others.
CREATE TABLE retirement (
    due INTEGER NOT NULL,
    id  BLOB    NOT NULL,
    PRIMARY KEY (due, id)
) STRICT, WITHOUT ROWID;
