-- What a namespace has besides executions: workers, the state of lanes.
CREATE TABLE resource (
    kind TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    due INTEGER,
    resource BLOB NOT NULL,
    PRIMARY KEY (kind, namespace, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX resource_due ON resource (due) WHERE due IS NOT NULL;
