-- Executions that wait for a budget or a quota, grouped by what they ask for, the first ones first.
DROP TABLE blocked;
CREATE TABLE blocked (
    namespace TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    class INTEGER NOT NULL,
    score INTEGER NOT NULL,
    id BLOB NOT NULL,
    PRIMARY KEY (namespace, kind, name, class, score, id)
) STRICT, WITHOUT ROWID;
