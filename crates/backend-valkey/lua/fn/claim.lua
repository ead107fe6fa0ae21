-- Takes the best executions of some queues in one partition.
--
-- args: request, index of the first lease, how many at most, salt, the highest score to take after
--       the first, worker and instance, packed; then the names of one or more queues.
-- reply: {1, now, 1 if bytes cut it short, heads, then id, record and input (false when it is in
--       the record) of each}. heads has the score of the new head of each queue, or ''.
--       {0} if the lane is paused or a candidate is not plainly claimable, which the general way
--       decides.

-- The bytes of a candidate's record, its input if that has a key of its own (else false), and how
-- long the input is; nil if it is not plainly claimable.
local function claimable(exec, id, place, key, now)
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
  local own = input_at == C.OWN_KEY and call('GET', exec .. ':in')
  if input_at == C.OWN_KEY and not own then
    return nil
  end
  return bytes, own, input_len
end

-- Puts an execution into a worker's hold and answers its new bytes; nil, with nothing written, if
-- its record is damaged.
local function hold(k, exec, id, bytes, now, request, index, worker, instance, new_salt)
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole then
    return nil
  end
  local was, lease = timer, struct.pack('>c16I2', request, index)
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
  call('ZADD', k.requests, 0, request .. id)
  return changed
end

-- The best candidates that plainly can be taken, at most max and BATCH_BYTES of input, as key,
-- bytes and own input one after the other; whether bytes cut it short. False if one of them cannot
-- plainly be taken.
local function choose(k, now, candidates, max, bound, keys)
  local chosen, bytes = {}, 0
  for i = 1, math.min(#candidates / 3, max) do
    local id, place, queue = candidates[3 * i - 2], candidates[3 * i - 1], candidates[3 * i]
    if i > 1 and tonumber(place) > bound then
      break
    end
    local exec = k.exec .. id
    local record, own, len = claimable(exec, id, place, keys[queue], now)
    if not record then
      return false
    end
    bytes = bytes + len
    if bytes > C.BATCH_BYTES and i > 1 then
      return chosen, 1
    end
    chosen[3 * i - 2], chosen[3 * i - 1], chosen[3 * i] = exec, record, own
  end
  return chosen, 0
end

-- The score of the head of each queue when so many candidates are taken, or ''.
local function new_heads(k, args, candidates, taken)
  local heads = {}
  for i = taken + 1, #candidates / 3 do
    local queue = candidates[3 * i]
    heads[queue] = heads[queue] or candidates[3 * i - 1]
  end
  for i = 1, #args - 1 do
    if not heads[i] then
      heads[i] = ''
      if k.classed[args[1 + i]] then
        ff.queue.close(k, args[1 + i])
      end
    end
  end
  return heads
end

register('claim', function(routes, args)
  local whole, request, first, max, salt, bound, worker, instance =
    pcall(struct.unpack, '>c16I2I2c4i8I1c0I1c0', args[1])
  if not whole then
    return {0}
  end
  local k, now, keys = ff.keys(routes[1]), now(), {}
  for i = 2, #args do
    keys[i - 1] = ff.queue_key(k, args[i])
  end
  -- One more of each queue than can be taken: it is the next head.
  local candidates = ff.queue.best(keys, max + 1)
  if #candidates > 0 and ff.gate(k, args[2]) % 2 == 1 then
    return {0}
  end
  local chosen, cut = choose(k, now, candidates, max, bound, keys)
  if not chosen then
    return {0}
  end
  local reply, taken = {1, now, cut, false}, 0
  for i = 1, #chosen / 3 do
    local exec, bytes, own = chosen[3 * i - 2], chosen[3 * i - 1], chosen[3 * i]
    local id = candidates[3 * i - 2]
    local changed =
      hold(k, exec, id, bytes, now, request, first + i - 1, worker, instance, salt)
    if not changed then
      break
    end
    reply[3 * i + 2], reply[3 * i + 3], reply[3 * i + 4] = id, changed, own
    call('ZREM', keys[candidates[3 * i]], id)
    taken = i
  end
  if taken == 0 and #chosen > 0 then
    return {0}
  end
  reply[4] = new_heads(k, args, candidates, taken)
  return reply
end, {}, 1, 1)
