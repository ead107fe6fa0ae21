-- What happened in the namespaces whose feed is on. `major` is the number of the transaction that wrote it,
-- or that of the last one that had ended by then, if that is higher: no transaction that ends later has
-- events with a lower one than the first that is still under way.
CREATE TABLE event (
    namespace text   COLLATE "C" NOT NULL,
    major     bigint NOT NULL,
    minor     bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    at        bigint NOT NULL,
    event     bytea  NOT NULL,
    PRIMARY KEY (namespace, major, minor)
);

-- The place of the last event of a namespace that was removed.
CREATE TABLE event_removed (
    namespace text   COLLATE "C" NOT NULL PRIMARY KEY,
    major     bigint NOT NULL,
    minor     bigint NOT NULL
);

-- Whether what a resource switches is on: the feed of a namespace.
ALTER TABLE resource ADD gate boolean NOT NULL DEFAULT false;
