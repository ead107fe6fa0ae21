-- The record of an execution as bytes and as a table. The codec in Rust lists the same fields in
-- the same order. Times are milliseconds, 0 where there is none.

local FORMAT = '>BBBBI4I4I2I6I6I6I6I6I6I6I6i8I6I4I4I4I4I6I6I6c8' -- numbers
  .. 'I1c0I1c0I1c0I1c0I1c0I2c0I2c0I2c0I2c0BI2c0BI2c0' -- sections
local WHOLE = FORMAT .. 'c0' -- and the rest

ff.record = {}

-- The record in bytes; nil when another release wrote it in a format of its own.
function ff.record.unpack(bytes)
  if string.byte(bytes) ~= C.FORMAT then
    return nil
  end
  local format, state, why, attention, counter, salt, priority,
    created, queued_at, started, deadline, until_at, timeout_at, cancel_by, timer,
    score, epoch, run, failures, reclaims, attempts,
    lease_ttl, attempt_timeout, retention, digest,
    holder, exit, ns, lane, class, requires, key, attempt, detail,
    result_at, result, input_at, input, rest = struct.unpack(FORMAT, bytes)
  -- One constructor makes the table in its full size.
  return {
    format = format, state = state, why = why, attention = attention, counter = counter,
    salt = salt, priority = priority, created = created, queued_at = queued_at,
    started = started, deadline = deadline, until_at = until_at, timeout_at = timeout_at,
    cancel_by = cancel_by, timer = timer, score = score, epoch = epoch, run = run,
    failures = failures, reclaims = reclaims, attempts = attempts, lease_ttl = lease_ttl,
    attempt_timeout = attempt_timeout, retention = retention, digest = digest, holder = holder,
    exit = exit, ns = ns, lane = lane, class = class, requires = requires, key = key,
    attempt = attempt, detail = detail, result_at = result_at, result = result,
    input_at = input_at, input = input, rest = string.sub(bytes, rest),
  }
end

function ff.record.pack(r)
  return struct.pack(WHOLE, r.format, r.state, r.why, r.attention, r.counter, r.salt, r.priority,
    r.created, r.queued_at, r.started, r.deadline, r.until_at, r.timeout_at, r.cancel_by, r.timer,
    r.score, r.epoch, r.run, r.failures, r.reclaims, r.attempts,
    r.lease_ttl, r.attempt_timeout, r.retention, r.digest,
    #r.holder, r.holder, #r.exit, r.exit, #r.ns, r.ns, #r.lane, r.lane, #r.class, r.class,
    #r.requires, r.requires, #r.key, r.key, #r.attempt, r.attempt, #r.detail, r.detail,
    r.result_at, #r.result, r.result, r.input_at, #r.input, r.input, r.rest)
end

-- The record of id; nil when there is none, false when it cannot be read.
function ff.record.get(k, id)
  local bytes = call('GET', k.exec .. id)
  return bytes and (ff.record.unpack(bytes) or false) or nil
end

-- A changed record has another version.
function ff.record.touch(r, salt)
  r.counter = r.counter + 1
  r.salt = salt
end

-- A time this long after another, at most the last one there is.
function ff.after(time, span)
  local sum = time + span
  return sum < C.TIME_MAX and sum or C.TIME_MAX
end

-- The earliest of times of which any may be 0; 0 when all are.
function ff.earliest(a, b, c)
  local least = a
  if b ~= 0 and (least == 0 or b < least) then
    least = b
  end
  if c and c ~= 0 and (least == 0 or c < least) then
    least = c
  end
  return least
end
