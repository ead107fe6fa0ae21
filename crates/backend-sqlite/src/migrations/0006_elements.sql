-- Elements beside a record, by collection and number. Collection 0 are the attempts that ended before
-- the newest one, which is in the record. With row ids for the reason that `blob` has them.
CREATE TABLE element (
    owner      BLOB    NOT NULL,
    collection INTEGER NOT NULL,
    number     INTEGER NOT NULL,
    name       BLOB,
    bytes      BLOB    NOT NULL,
    PRIMARY KEY (owner, collection, number)
) STRICT;

CREATE INDEX element_name ON element (owner, collection, name, number) WHERE name IS NOT NULL;

INSERT INTO element (owner, collection, number, bytes) SELECT id, 0, number, attempt FROM attempt;
DROP TABLE attempt;
