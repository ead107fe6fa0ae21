-- Work that other programs submit by SQL, inside transactions of their own. Processes of the store turn it
-- into executions as soon as it is committed.
CREATE TABLE submission (
    id        uuid    NOT NULL PRIMARY KEY,
    namespace text    COLLATE "C" NOT NULL,
    key       text    COLLATE "C",
    kind      text    COLLATE "C" NOT NULL,
    input     jsonb,
    options   jsonb   NOT NULL,
    -- Why it became no execution, if that is so. It stays until somebody removes it.
    refused   text
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE UNIQUE INDEX submission_key ON submission (namespace, key) WHERE key IS NOT NULL;
CREATE INDEX submission_next ON submission (id) WHERE refused IS NULL;

-- Submits work of this kind, and answers its id: it is there if and only if the caller's transaction commits.
-- Options: namespace, lane, key, priority, delay_ms, tags.
CREATE FUNCTION submit(kind text, input jsonb DEFAULT NULL, options jsonb DEFAULT '{}') RETURNS uuid
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    name      CONSTANT text := '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$';
    given     CONSTANT jsonb := coalesce(submit.options, '{}');
    its_space CONSTANT text := coalesce(given ->> 'namespace', 'default');
    its_lane  CONSTANT text := coalesce(given ->> 'lane', 'default');
    its_key   CONSTANT text := given ->> 'key';
    tags      CONSTANT jsonb := coalesce(given -> 'tags', '{}');
    fresh     uuid;
    known     uuid;
    is_same   boolean;
    option    text;
BEGIN
    IF jsonb_typeof(given) <> 'object' THEN
        RAISE EXCEPTION 'options must be a JSON object' USING ERRCODE = '22023';
    END IF;
    SELECT o INTO option FROM jsonb_object_keys(given) AS o
    WHERE o <> ALL (ARRAY['namespace', 'lane', 'key', 'priority', 'delay_ms', 'tags']) LIMIT 1;
    IF option IS NOT NULL THEN
        RAISE EXCEPTION 'the option % is not known; known are namespace, lane, key, priority, delay_ms and tags',
            quote_ident(left(option, 64)) USING ERRCODE = '22023';
    END IF;
    IF submit.kind IS NULL OR submit.kind !~ name OR its_space !~ name OR its_lane !~ name THEN
        RAISE EXCEPTION 'kind, namespace and lane must be 1 to 64 of a-z A-Z 0-9 _ - . that begin with a letter or digit'
            USING ERRCODE = '22023';
    END IF;
    IF its_key !~ '^[!-~]+$' OR octet_length(its_key) > 256 THEN
        RAISE EXCEPTION 'key must be 1 to 256 visible ASCII characters' USING ERRCODE = '22023';
    END IF;
    IF octet_length(submit.input::text) > 1048576 THEN
        RAISE EXCEPTION 'input has more than 1048576 bytes' USING ERRCODE = '22023';
    END IF;
    IF given ? 'priority' AND (jsonb_typeof(given -> 'priority') <> 'number'
        OR (given ->> 'priority')::numeric NOT BETWEEN -9000 AND 9000
        OR (given ->> 'priority')::numeric % 1 <> 0) THEN
        RAISE EXCEPTION 'priority must be a whole number from -9000 to 9000' USING ERRCODE = '22023';
    END IF;
    IF given ? 'delay_ms' AND (jsonb_typeof(given -> 'delay_ms') <> 'number'
        OR (given ->> 'delay_ms')::numeric NOT BETWEEN 0 AND 31536000000
        OR (given ->> 'delay_ms')::numeric % 1 <> 0) THEN
        RAISE EXCEPTION 'delay_ms must be a whole number from 0 to 31536000000' USING ERRCODE = '22023';
    END IF;
    IF jsonb_typeof(tags) <> 'object' THEN
        RAISE EXCEPTION 'tags must be a JSON object of texts' USING ERRCODE = '22023';
    END IF;
    IF (SELECT count(*) FROM jsonb_object_keys(tags)) > 32 OR EXISTS (SELECT 1 FROM jsonb_each(tags) AS t
        WHERE jsonb_typeof(t.value) <> 'string' OR t.key !~ name OR octet_length(t.value #>> '{}') > 256
            OR t.value #>> '{}' ~ '[[:cntrl:]]') THEN
        RAISE EXCEPTION 'tags must be at most 32 names with texts of at most 256 bytes' USING ERRCODE = '22023';
    END IF;
    -- A version 7 UUID of partition 0.
    fresh := encode(set_byte(set_byte(overlay(uuid_send(gen_random_uuid())
        PLACING substring(int8send(ff_now()) FROM 3) FROM 1 FOR 6), 6, 112), 7, 0), 'hex')::uuid;
    INSERT INTO submission (id, namespace, key, kind, input, options)
    VALUES (fresh, its_space, its_key, submit.kind, submit.input, given)
    ON CONFLICT (namespace, key) WHERE submission.key IS NOT NULL DO NOTHING;
    IF NOT FOUND THEN
        SELECT s.id, s.kind = submit.kind AND s.input IS NOT DISTINCT FROM submit.input AND s.options = given
        INTO known, is_same FROM submission s WHERE s.namespace = its_space AND s.key = its_key;
        IF known IS NOT NULL THEN
            IF NOT is_same THEN
                RAISE EXCEPTION 'the key % names other work', its_key USING ERRCODE = '23505';
            END IF;
            RETURN known;
        END IF;
        -- It has become an execution meanwhile.
    END IF;
    IF its_key IS NOT NULL THEN
        SELECT k.id INTO known FROM idempotency_key k WHERE k.namespace = its_space AND k.key = its_key;
        IF known IS NOT NULL THEN
            DELETE FROM submission s WHERE s.id = fresh;
            RETURN known;
        END IF;
        IF NOT EXISTS (SELECT 1 FROM submission s WHERE s.id = fresh) THEN
            RAISE EXCEPTION 'the key % was being used; try again', its_key USING ERRCODE = '40001';
        END IF;
    END IF;
    RETURN fresh;
END $$;
REVOKE ALL ON FUNCTION submit(text, jsonb, jsonb) FROM PUBLIC;
