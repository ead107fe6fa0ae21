-- The log of a namespace: a stream of what happened, written while its feed is on. An event is written
-- before the record that it comes with: a fault in between leaves an event of a change that failed, never a
-- change without its event. Event and record are one write for every other reason.

ff.events = {}

-- Where a namespace logs, false if its feed is off; readers are told that something follows. logs has what
-- this call has found out, by namespace. Nothing is remembered for longer: another version of the library
-- may switch a feed.
local function log_of(k, logs, ns)
  local log = logs[ns]
  if log == nil then
    local at = C.RESOURCE_GATE_AT - 1
    local byte = call('GETRANGE', ff.key.feed(k, ns), at, at)
    log = byte ~= '' and bit.band(string.byte(byte), C.FEED_ON) ~= 0 and ff.key.events(k, ns)
    logs[ns] = log
    if log then
      call('SPUBLISH', k.logged, ns)
    end
  end
  return log
end

ff.events.log_of = log_of

-- What a call has found out is no longer so.
function ff.events.forget(logs)
  for ns in pairs(logs) do
    logs[ns] = nil
  end
end

-- Adds packed bytes to a log. What is damaged affects only its readers.
local function append(log, packed)
  local added, why = pcall(call, 'XADD', log, '*', 'e', packed)
  if not added and not string.find(type(why) == 'table' and why.err or tostring(why), 'WRONGTYPE') then
    error(why)
  end
end

-- Logs an event that is packed already.
function ff.events.add(k, logs, ns, packed)
  local log = log_of(k, logs, ns)
  if log then
    append(log, packed)
  end
end

-- The kind and the tags of a record, from its MessagePack: that as it is, or, where it is long, its first
-- four fields.
local function label(rest)
  local head = string.byte(rest)
  if #rest <= C.EVENT_LABEL or not head or head < 0x94 or head > 0x9f then
    return rest
  end
  local read, used = pcall(cmsgpack.unpack_limit, string.sub(rest, 2), 4)
  if not read or used < 0 then
    return rest
  end
  return '\148' .. string.sub(rest, 2, 1 + used)
end

-- Writes an event to a log.
function ff.events.write(log, what, value, at, id, counter, salt, run, attempts, lane, rest)
  append(log, struct.pack('>$EVENT', $packed_event) .. label(rest))
end

-- Logs an event of a record whose tail is unread; bytes and tail_at say where that is.
function ff.events.happened(k, logs, ns, what, value, at, id, counter, salt, run, attempts, bytes, tail_at)
  local log = log_of(k, logs, ns)
  if not log then
    return
  end
  local whole, $tail, rest_at = pcall(struct.unpack, ff.record.TAIL, bytes, tail_at)
  if whole then
    ff.events.write(log, what, value, at, id, counter, salt, run, attempts, lane,
      string.sub(bytes, rest_at))
  end
end
