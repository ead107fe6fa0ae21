-- Takes the best executions of some queues in one partition.
--
-- args: request, place of the first lease, how many at most, salt, the highest score to take after
--       the first, 1 if it passes over what must be admitted (else 0), worker and instance, packed;
--       what is admitted for this call: id, name and the time until which it may be used of each,
--       packed (if there is any, it takes these and nothing else); then the names of one or more
--       queues.
-- reply: {1, now, 1 if bytes cut it short, 1 if the lane has a limit, heads, wanted, then id, record
--       and input (false when it is in the record) of each}. heads has the score of the new head of
--       each queue, or ''; wanted the ids and records of those that must be admitted first.
--       {0} if the lane is paused or a candidate is not plainly claimable, which the general way
--       decides.

-- The bytes of a candidate's record, its input if that has a key of its own (else false), and how
-- long the input is; true if it must be admitted. Nil if it is not plainly claimable.
local function claimable(exec, id, place, key, now, limited)
  local bytes = call('GET', exec)
  if not bytes then
    -- No record owns this entry: what a fault left behind.
    call('ZREM', key, id)
    return nil
  end
  if string.byte(bytes) ~= C.FORMAT or #bytes < C.FENCE_FROM then
    return nil
  end
  local score, _, _, _, deadline = struct.unpack('>i8I6I6I6I6', bytes, C.SCORE_AT)
  if score == C.NO_SCORE then
    call('ZREM', key, id)
    return nil
  end
  if score ~= tonumber(place) then
    -- A fault has left it in its earlier place.
    call('ZADD', key, score, id)
    return nil
  end
  if string.byte(bytes, 2) ~= C.QUEUED or (deadline ~= 0 and deadline <= now) then
    return nil
  end
  local input_at, input_len = struct.unpack('>BI4', bytes, C.INPUT_AT)
  if ff.asks(string.byte(bytes, C.LIMITS_AT), limited) then
    return bytes, false, input_len, true
  end
  local own = input_at == C.OWN_KEY and call('GET', exec .. ':in')
  if input_at == C.OWN_KEY and not own then
    return nil
  end
  return bytes, own, input_len
end

-- Puts an execution into a worker's hold and answers its new bytes; nil, with nothing written, if
-- its record is damaged.
local function hold(k, exec, id, bytes, now, request, place, worker, instance, new_salt, name)
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole then
    return nil
  end
  -- The lease is named after the request, its place, and which lease of the execution it is.
  local lease = struct.pack('>c16I2', request, epoch % C.TURNS * C.PLACES + place)
  local was = timer
  if why > C.LAST_START then
    attempt = ff.attempt.continue(attempt, lease, worker, instance)
    if not attempt then
      return nil
    end
  else
    if attempts > 0 then
      call('HSET', exec .. ':att', attempts - 1, attempt)
    end
    attempt = ff.attempt.start(attempts, run, now, lease, worker, instance)
    attempts = attempts + 1
  end
  admission = name or ''
  limits = limits % 2 + (name and 2 or 0)
  holder, epoch, state, why, score, detail = lease, epoch + 1, C.ACTIVE, 0, C.NO_SCORE, ''
  until_at = ff.after(now, lease_ttl)
  timeout_at = attempt_timeout ~= 0 and ff.after(now, attempt_timeout) or 0
  timer = ff.earliest(until_at, timeout_at, deadline)
  counter, salt = counter + 1, new_salt
  local changed = struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at))
  call('SET', exec, changed)
  if timer ~= was then
    ff.save.arm(k, id, timer, now)
  end
  call('ZADD', k.requests, 0, string.sub(lease, 1, 16) .. id)
  return changed
end

-- The candidates; the best that plainly can be taken, at most max and BATCH_BYTES of input, as number
-- of the candidate, bytes and own input one after the other; those that must be admitted, as id and
-- bytes; whether bytes cut it short; whether the lane has a limit. False if the lane is paused or one
-- of them cannot plainly be taken. A claim that passes over nothing is told, where one must be
-- admitted, of all behind it that must.
local function choose(k, now, max, bound, queue_name, keys, passes)
  local most = passes and math.max(max, C.ADMISSION_LOOKAHEAD) or max
  -- One more than can be taken: of a single queue it is the next head.
  local candidates = ff.queue.best(keys, most + 1)
  local chosen, wanted, bytes, i = {}, {}, 0, 0
  local paused, _, limited
  if #candidates > 0 then
    paused, _, limited = ff.gate(k, queue_name)
  end
  if paused then
    return candidates, false
  end
  while i < most and 3 * i < #candidates and #chosen < 3 * max do
    i = i + 1
    local id, place, queue = candidates[3 * i - 2], candidates[3 * i - 1], candidates[3 * i]
    if i > 1 and tonumber(place) > bound then
      break
    end
    local record, own, len, asks = claimable(k.exec .. id, id, place, keys[queue], now, limited)
    if not record and (passes or i <= max) then
      return candidates, false
    elseif not record then
      break
    end
    if i <= max or passes and not asks then
      bytes = bytes + (passes and asks and 0 or len)
      if bytes > C.BATCH_BYTES and (#chosen > 0 or (i > 1 and not passes)) then
        return candidates, chosen, wanted, 1, limited
      end
    end
    if asks then
      wanted[#wanted + 1] = id
      wanted[#wanted + 1] = record
      if not passes and most < C.ADMISSION_LOOKAHEAD then
        most = C.ADMISSION_LOOKAHEAD
        candidates = ff.queue.best(keys, most + 1)
      end
    elseif passes or i <= max then
      local at = #chosen
      chosen[at + 1], chosen[at + 2], chosen[at + 3] = i, record, own
    end
  end
  return candidates, chosen, wanted, 0, limited
end

-- The number of the queue of a record, how long its input is, where that lies, its limits and its
-- version; nil if it cannot plainly be taken.
local function placed(record, queues, now)
  if string.byte(record) ~= C.FORMAT then
    return nil
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, record)
  if not whole or (deadline ~= 0 and deadline <= now) then
    return nil
  end
  local tail_whole, $tail = pcall(struct.unpack, ff.record.TAIL, record, tail_at)
  if tail_whole then
    return queues[ff.queue.name(ns, lane, class)], input_len, input_at, limits, counter, salt
  end
end

-- The same for what was admitted for this call: it takes these and nothing else. What no longer waits
-- is passed over.
local function choose_named(k, now, max, names, ids, admitted)
  local queues = {}
  for i = 3, #names do
    queues[names[i]] = i - 2
  end
  local candidates, chosen, bytes = {}, {}, 0
  local paused, _, limited = ff.gate(k, names[3])
  for _, id in ipairs(ids) do
    local record = call('GET', k.exec .. id)
    if record and string.byte(record, 2) == C.QUEUED then
      local queue, input_len, input_at, limits, counter, salt = placed(record, queues, now)
      if not queue then
        return candidates, false
      end
      local seen = admitted[id]
      if seen and (seen.counter ~= counter or seen.salt ~= salt) then
        admitted[id] = nil
      end
      local asks = ff.asks(limits, limited) and not admitted[id]
      if not asks and paused then
        return candidates, false
      end
      if not asks and #chosen < 3 * max then
        bytes = bytes + input_len
        if bytes > C.BATCH_BYTES and #chosen > 0 then
          return candidates, chosen, {}, 1
        end
        local own = input_at == C.OWN_KEY and call('GET', k.exec .. id .. ':in')
        if input_at == C.OWN_KEY and not own then
          return candidates, false
        end
        local at, to = #candidates, #chosen
        candidates[at + 1], candidates[at + 2], candidates[at + 3] = id, '', queue
        chosen[to + 1], chosen[to + 2], chosen[to + 3] = #candidates / 3, record, own
      end
    end
  end
  return candidates, chosen, {}, 0
end

-- The score of the head of the only queue when these candidates are taken, or ''. One more than can be
-- taken was read, so there is none only if nothing is left.
local function new_head(k, args, candidates, taken)
  for i = 1, #candidates / 3 do
    if not taken[i] then
      return {candidates[3 * i - 1]}
    end
  end
  if k.classed[args[3]] then
    ff.queue.close(k, args[3])
  end
  return {''}
end

-- The ids of what was admitted, and by id the names of the admissions that may still be used, each for
-- one version of the record; nil if they cannot be read.
local function admissions(packed, now)
  local ids, admitted = {}, {}
  for at = 1, #packed, 54 do
    local whole, id, name, till, counter, salt = pcall(struct.unpack, '>c22c18I6I4c4', packed, at)
    if not whole then
      return nil
    end
    ids[#ids + 1] = id
    admitted[id] = now < till and {name = name, counter = counter, salt = salt} or nil
  end
  return ids, admitted
end

-- The score of the head of each queue, or ''.
local function heads_now(k, args, keys)
  local heads = {}
  for i, key in ipairs(keys) do
    heads[i] = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or ''
    if heads[i] == '' and k.classed[args[2 + i]] then
      ff.queue.close(k, args[2 + i])
    end
  end
  return heads
end

register('claim', function(routes, args)
  local whole, request, first, max, salt, bound, passes, worker, instance =
    pcall(struct.unpack, '>c16I2I2c4i8BI1c0I1c0', args[1])
  local k, now, keys = ff.keys(routes[1]), now(), {}
  if not whole then
    return {0}
  end
  local ids, admitted = admissions(args[2], now)
  if not ids then
    return {0}
  end
  for i = 3, #args do
    keys[i - 2] = ff.queue_key(k, args[i])
  end
  local candidates, chosen, wanted, cut, limited
  if #ids > 0 then
    candidates, chosen, wanted, cut = choose_named(k, now, max, args, ids, admitted)
  else
    candidates, chosen, wanted, cut, limited = choose(k, now, max, bound, args[3], keys, passes == 1)
  end
  if not chosen then
    return {0}
  end
  local reply, taken = {1, now, cut, limited and 1 or 0, false, wanted}, {}
  for i = 1, #chosen / 3 do
    local at, bytes, own = chosen[3 * i - 2], chosen[3 * i - 1], chosen[3 * i]
    local id, place = candidates[3 * at - 2], first + i - 1
    local changed = place < C.PLACES
      and hold(k, k.exec .. id, id, bytes, now, request, place, worker, instance, salt,
        admitted[id] and admitted[id].name)
    if not changed then
      break
    end
    reply[3 * i + 4], reply[3 * i + 5], reply[3 * i + 6] = id, changed, own
    call('ZREM', keys[candidates[3 * at]], id)
    taken[at] = true
  end
  if #reply == 6 and #chosen > 0 then
    return {0}
  end
  if #ids > 0 or #keys > 1 then
    reply[5] = heads_now(k, args, keys)
  else
    reply[5] = new_head(k, args, candidates, taken)
  end
  return reply
end, {}, 2, 1)
