-- Executions that wait for a budget or a quota, the first ones first.
CREATE TABLE blocked (
    namespace TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    score INTEGER NOT NULL,
    id BLOB NOT NULL,
    PRIMARY KEY (namespace, kind, name, score, id)
) STRICT, WITHOUT ROWID;
