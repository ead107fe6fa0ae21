-- Takes the best executions of some classes of a lane in one partition.
--
-- args: namespace, lane, request (16 bytes), index of the first lease, how many at most, worker,
--       instance, salt (4 bytes), the highest score to take after the first ('' for any), then one
--       or more classes ('' is the one without requirements).
-- reply: {1, now, 1 if bytes cut it short, heads, then id, record and input (false when it is in
--       the record) of each}. heads has the score of the new head of each class, or ''.
--       {0} if a candidate is not plainly claimable, which the general way decides.

-- The bytes of a candidate's record, its input if that has a key of its own (else false), and how
-- long the input is; nil if it is not plainly claimable.
local function claimable(k, now, candidate, key)
  local id = candidate[2]
  local bytes = call('GET', k.exec .. id)
  if not bytes then
    -- No record owns this entry: what a fault left behind.
    call('ZREM', key, id)
    return nil
  end
  if string.byte(bytes) ~= C.FORMAT then
    return nil
  end
  if #bytes < C.FENCE_FROM then
    return nil
  end
  local score, _, _, _, deadline = struct.unpack('>i8I6I6I6I6', bytes, C.SCORE_AT)
  if score == C.NO_SCORE then
    call('ZREM', key, id)
    return nil
  end
  if score ~= candidate[1] then
    -- A fault has left it in its earlier place.
    call('ZADD', key, score, id)
    return nil
  end
  if string.byte(bytes, 2) ~= C.QUEUED or (deadline ~= 0 and deadline <= now) then
    return nil
  end
  local input_at, input_len = struct.unpack('>BI4', bytes, C.INPUT_AT)
  local own = input_at == C.OWN_KEY and call('GET', k.exec .. id .. ':in')
  if input_at == C.OWN_KEY and not own then
    return nil
  end
  return bytes, own, input_len
end

-- Puts an execution into a worker's hold and answers its new bytes; nil, with nothing written, if
-- its record is damaged.
local function hold(k, id, bytes, now, lease, worker, instance, new_salt)
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole then
    return nil
  end
  local was = timer
  if why > C.LAST_START then
    attempt = ff.attempt.continue(attempt, lease, worker, instance)
    if not attempt then
      return nil
    end
  else
    if attempts > 0 then
      call('HSET', k.exec .. id .. ':att', attempts - 1, attempt)
    end
    attempt = ff.attempt.start(attempts, run, now, lease, worker, instance)
    attempts = attempts + 1
  end
  holder, epoch, state, why, score, detail = lease, epoch + 1, C.ACTIVE, 0, C.NO_SCORE, ''
  until_at = ff.after(now, lease_ttl)
  timeout_at = attempt_timeout ~= 0 and ff.after(now, attempt_timeout) or 0
  timer = ff.earliest(until_at, timeout_at, deadline)
  counter, salt = counter + 1, new_salt
  local changed = struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at))
  call('SET', k.exec .. id, changed)
  if timer ~= was then
    ff.save.arm(k, id, timer, now)
  end
  call('ZADD', k.requests, 0, string.sub(lease, 1, 16) .. id)
  return changed
end

-- The best candidates that plainly can be taken, at most max and BATCH_BYTES of input; whether
-- bytes cut it short; false if one of them cannot plainly be taken.
local function choose(k, now, candidates, max, bound, keys)
  local chosen, bytes = {}, 0
  for i = 1, math.min(#candidates, max) do
    local candidate = candidates[i]
    if i > 1 and bound and candidate[1] > bound then
      break
    end
    local record, own, len = claimable(k, now, candidate, keys[candidate[3]])
    if not record then
      return false
    end
    bytes = bytes + len
    if bytes > C.BATCH_BYTES and i > 1 then
      return chosen, 1
    end
    chosen[i] = {record, own}
  end
  return chosen, 0
end

register('claim', function(routes, args)
  local ns, lane, request, first, max, worker, instance, salt, bound = unpack(args, 1, 9)
  local classes = {unpack(args, 10)}
  local k, now, keys = ff.keys(routes[1]), now(), {}
  for i, class in ipairs(classes) do
    keys[i] = ff.queue_key(k, ff.queue.name(ns, lane, class))
  end
  -- One more of each class than can be taken: it is the next head.
  local candidates = ff.queue.best(k, ns, lane, classes, max + 1)
  local chosen, cut = choose(k, now, candidates, tonumber(max), tonumber(bound), keys)
  if not chosen or #request ~= 16 or #salt ~= 4 then
    return {0}
  end
  local heads, taken = {}, 0
  local reply = {1, now, cut, heads}
  for i, one in ipairs(chosen) do
    local id, at = candidates[i][2], #reply
    local lease = struct.pack('>c16I2', request, first + i - 1)
    local bytes = hold(k, id, one[1], now, lease, worker, instance, salt)
    if not bytes then
      break
    end
    reply[at + 1] = id
    reply[at + 2] = bytes
    reply[at + 3] = one[2]
    call('ZREM', keys[candidates[i][3]], id)
    taken = i
  end
  if taken == 0 and #chosen > 0 then
    return {0}
  end
  for i = taken + 1, #candidates do
    local class = candidates[i][3]
    heads[class] = heads[class] or string.format('%.0f', candidates[i][1])
  end
  for i, class in ipairs(classes) do
    if not heads[i] then
      heads[i] = ''
      ff.queue.close(k, ns, lane, class)
    end
  end
  return reply
end, {}, 9, 1, {4, 5})
