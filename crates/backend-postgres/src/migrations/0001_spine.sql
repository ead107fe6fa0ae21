-- Executions, what is stored next to them, and the indexes by which they are found.
--
-- The record decides. The tables from `queue` to `idempotency_key` are indexes: written from the entries
-- of a change and from nothing else. Texts are compared byte by byte.

-- The one clock of the store, in milliseconds since the Unix epoch. Nothing else reads a clock.
CREATE FUNCTION ff_now() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- Fails, so that the transaction is run again, unless a write changed as many rows as were decided on.
CREATE FUNCTION ff_expect(changed bigint, decided bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF changed <> decided THEN
        RAISE EXCEPTION 'another process has changed % of % rows', decided - changed, decided
            USING ERRCODE = '40001';
    END IF;
END $$;

-- Fails, so that the transaction is run again, once the time of what was decided is over.
CREATE FUNCTION ff_fresh(until bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF ff_now() >= until THEN
        RAISE EXCEPTION 'a decision is too old to be written' USING ERRCODE = '40001';
    END IF;
END $$;

-- One record per execution. The version is also in the record; here a write checks it. Updates find room
-- on their page, so that they need no new entry of the index.
CREATE TABLE execution (
    id      uuid   NOT NULL PRIMARY KEY,
    version bigint NOT NULL,
    record  bytea  NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE execution ALTER record SET STORAGE MAIN;

-- Bytes next to a record. Part -1 is the input, part n the result of run n.
CREATE TABLE blob (
    id    uuid   NOT NULL,
    part  bigint NOT NULL,
    bytes bytea  NOT NULL,
    PRIMARY KEY (id, part)
);

-- Elements next to a record, by collection and number. Collection 0 are the attempts that ended before
-- the newest one, which is in the record.
CREATE TABLE element (
    owner      uuid     NOT NULL,
    collection smallint NOT NULL,
    number     bigint   NOT NULL,
    name       bytea,
    bytes      bytea    NOT NULL,
    PRIMARY KEY (owner, collection, number)
);
CREATE INDEX element_name ON element (owner, collection, name, number) WHERE name IS NOT NULL;

-- Claimable work, lowest score first, one queue per lane and class. Claims remove what they take from its
-- head, so it is vacuumed often: an index scan meets what is removed and not vacuumed again and again.
CREATE TABLE queue (
    namespace text   COLLATE "C" NOT NULL,
    lane      text   COLLATE "C" NOT NULL,
    class     text   COLLATE "C" NOT NULL,
    score     bigint NOT NULL,
    id        uuid   NOT NULL,
    PRIMARY KEY (namespace, lane, class, score, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

-- When time next does something to an execution.
CREATE TABLE timer (
    due bigint NOT NULL,
    id  uuid   NOT NULL,
    PRIMARY KEY (due, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

-- The claim or grant call that holds an execution.
CREATE TABLE request (
    request uuid NOT NULL,
    id      uuid NOT NULL,
    PRIMARY KEY (request, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

-- Every execution of a namespace, by the time it was made.
CREATE TABLE list (
    namespace text   COLLATE "C" NOT NULL,
    created   bigint NOT NULL,
    id        uuid   NOT NULL,
    PRIMARY KEY (namespace, created, id)
);

-- What a person should look at.
CREATE TABLE attention (
    namespace text   COLLATE "C" NOT NULL,
    attention text   COLLATE "C" NOT NULL,
    created   bigint NOT NULL,
    id        uuid   NOT NULL,
    PRIMARY KEY (namespace, attention, created, id)
);

-- Executions that wait for a budget or a quota, grouped by what they ask for, the first ones first.
CREATE TABLE blocked (
    namespace text   COLLATE "C" NOT NULL,
    kind      text   COLLATE "C" NOT NULL,
    name      text   COLLATE "C" NOT NULL,
    class     bigint NOT NULL,
    score     bigint NOT NULL,
    id        uuid   NOT NULL,
    PRIMARY KEY (namespace, kind, name, class, score, id)
);

-- Submitters' own names for executions.
CREATE TABLE idempotency_key (
    namespace text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    id        uuid NOT NULL,
    PRIMARY KEY (namespace, key)
);

-- What a namespace has besides executions: workers, the state of lanes, budgets, quotas, tickets.
CREATE TABLE resource (
    kind      text   COLLATE "C" NOT NULL,
    namespace text   COLLATE "C" NOT NULL,
    name      text   COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    due       bigint,
    resource  bytea  NOT NULL,
    PRIMARY KEY (kind, namespace, name)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX resource_due ON resource (due, kind, namespace, name) WHERE due IS NOT NULL;

-- Follow-up work and when the engine runs it at the latest.
CREATE TABLE continuation (
    what bytea  NOT NULL PRIMARY KEY,
    due  bigint NOT NULL
);
CREATE INDEX continuation_due ON continuation (due, what);

-- The counters of executions that are not zero.
CREATE TABLE tally (
    owner   uuid     NOT NULL,
    counter smallint NOT NULL,
    value   bigint   NOT NULL,
    PRIMARY KEY (owner, counter)
);

-- Small values that are fixed when they are first needed, by name.
CREATE TABLE setting (
    name  text  COLLATE "C" NOT NULL PRIMARY KEY,
    value bytea NOT NULL
);

-- The engine processes on this store, and when each has last sent a heartbeat.
CREATE TABLE engine (
    id   uuid   NOT NULL PRIMARY KEY,
    seen bigint NOT NULL
);
