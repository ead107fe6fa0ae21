-- Follow-up work of a partition, by when it is due, and the counters of executions. A member is the
-- bytes of a continuation. A commit adds continuations before it changes a record and removes them
-- after all else, so no fault loses one whose cause is written. What raises a latch it counts before it
-- changes records, and all else after that: a fault may leave a latch too high, but never too low.

ff.continuations = {}

local function is_member(bytes)
  return #bytes == C.CONTINUATION
end

-- The time that a text is; nil if it is none.
local function moment(text)
  local due = tonumber(text)
  return due and due >= 0 and due <= C.TIME_MAX and due or nil
end

-- A continuation to add; nil if it is damaged.
function ff.continuations.added(member, due)
  due = moment(due)
  return is_member(member) and due and {member, due} or nil
end

-- A continuation to remove; nil if it is not there.
function ff.continuations.removed(k, member)
  return call('ZSCORE', k.continuations, member) and {member} or nil
end

function ff.continuations.add(k, added, now)
  ff.arm(k, k.continuations, added[1], added[2], now)
end

function ff.continuations.remove(k, removed)
  call('ZREM', k.continuations, removed[1])
end

local function bounded(value)
  return math.max(-C.COUNTER_MAX, math.min(C.COUNTER_MAX, value))
end

-- What is packed as counters and what is added to each; nil if it is damaged.
local function deltas(packed)
  local at, all = 1, {}
  while at <= #packed do
    local whole, $delta, next_at = pcall(struct.unpack, '>$DELTA', packed, at)
    if not whole then
      return nil
    end
    all[#all + 1], all[#all + 2], at = counter, bounded(by), next_at
  end
  return all[1] and all or nil
end

-- What is to be counted for an execution, and the continuation that its latch adds at zero ('' for
-- none); nil if something of it is damaged.
function ff.continuations.counted(k, id, packed, due, member)
  local all, latch = deltas(packed), member ~= '' and ff.continuations.added(member, due)
  if not all or latch == nil then
    return nil
  end
  local key = ff.key.tally(ff.key.record(k, id))
  for i = 1, #all, 2 do
    local value = call('HGET', key, all[i])
    if value and not tonumber(value) then
      return nil
    end
  end
  return {all, latch}
end

-- Counts, if there is such an execution. Answers 1 if the latch added its continuation. All counters are
-- written by one call; what is zero then takes no room.
function ff.continuations.count(k, id, counted, now)
  local record, all, latch = ff.key.record(k, id), counted[1], counted[2]
  if call('EXISTS', record) == 0 then
    return 0
  end
  local key, fields, zero, is_latched = ff.key.tally(record), {}, {}, false
  for i = 1, #all, 2 do
    local value = bounded((call('HGET', key, all[i]) or 0) + all[i + 1])
    fields[i], fields[i + 1] = all[i], string.format('%.0f', value)
    if value == 0 then
      zero[#zero + 1] = all[i]
      is_latched = is_latched or all[i] == C.COUNTER_LATCH and all[i + 1] ~= 0
    end
  end
  if latch and is_latched then
    ff.continuations.add(k, latch, now)
  end
  call('HSET', key, unpack(fields))
  if zero[1] then
    call('HDEL', key, unpack(zero))
  end
  return latch and is_latched and 1 or 0
end

-- The counters of an execution that is about to be created, whatever a fault has left of them.
function ff.continuations.begin(record, counted)
  local key, all, fields = ff.key.tally(record), counted[1], {}
  for i = 1, #all, 2 do
    fields[i], fields[i + 1] = all[i], string.format('%.0f', all[i + 1])
  end
  call('DEL', key)
  call('HSET', key, unpack(fields))
end

-- Removes counters of zero, which a fault has left. Answers how many there were.
function ff.continuations.clear(record)
  local key, zero = ff.key.tally(record), {}
  local all = call('HGETALL', key)
  for i = 1, #all, 2 do
    if tonumber(all[i + 1]) == 0 then
      zero[#zero + 1] = all[i]
    end
  end
  return zero[1] and call('HDEL', key, unpack(zero)) or 0
end
