-- Takes the best executions of some classes of a lane in one partition.
--
-- args: namespace, lane, request (16 bytes), index of the first lease, how many at most, worker,
--       instance, salt, the highest score to take after the first ('' for any), then one or more
--       classes ('' is the one without requirements).
-- reply: {1, now, 1 if bytes cut it short, heads, then id, record and input (false when it is in
--       the record) of each}. heads has the score of the new head of each class, or ''.
--       {0} if a candidate is not plainly claimable, which the general way decides.

-- The record of a candidate, nil if it is not plainly claimable.
local function claimable(k, now, candidate, key)
  local r = ff.record.get(k, candidate[2])
  if r == nil or (r and r.score ~= candidate[1]) then
    -- No record owns this entry: what a fault left behind.
    call('ZREM', key, candidate[2])
    return nil
  end
  if not r or r.state ~= C.QUEUED or (r.deadline ~= 0 and r.deadline <= now) then
    return nil
  end
  if r.input_at == C.OWN_KEY then
    r.own_input = call('GET', k.exec .. candidate[2] .. ':in')
    return r.own_input and r
  end
  return r
end

-- Puts an execution into a worker's hold and answers its new bytes.
local function hold(k, id, r, now, lease, worker, instance, salt)
  local starts, timer = r.why <= C.LAST_START, r.timer
  if starts and r.attempts > 0 then
    call('HSET', k.exec .. id .. ':att', r.attempts - 1, r.attempt)
  end
  r.holder, r.epoch, r.state, r.detail = lease, r.epoch + 1, C.ACTIVE, ''
  if starts then
    r.attempts = r.attempts + 1
    r.attempt = ff.attempt.start(r, now, worker, instance)
  else
    r.attempt = ff.attempt.continue(r, worker, instance)
  end
  r.why, r.score = 0, C.NO_SCORE
  r.until_at = ff.after(now, r.lease_ttl)
  r.timeout_at = r.attempt_timeout ~= 0 and ff.after(now, r.attempt_timeout) or 0
  r.timer = ff.earliest(r.until_at, r.timeout_at, r.deadline)
  ff.record.touch(r, salt)
  return ff.save.hold(k, id, r, timer, now)
end

-- The best candidates that plainly can be taken, at most max and BATCH_BYTES of input; whether
-- bytes cut it short; false if one of them cannot plainly be taken.
local function choose(k, now, candidates, max, bound, keys)
  local chosen, bytes = {}, 0
  for i = 1, math.min(#candidates, max) do
    local candidate = candidates[i]
    if i > 1 and bound ~= '' and candidate[1] > tonumber(bound) then
      break
    end
    local r = claimable(k, now, candidate, keys[candidate[3]])
    if not r then
      return false
    end
    bytes = bytes + #(r.own_input or r.input)
    if bytes > C.BATCH_BYTES and i > 1 then
      return chosen, 1
    end
    chosen[i] = r
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
  local chosen, cut = choose(k, now, candidates, tonumber(max), bound, keys)
  if not chosen then
    return {0}
  end
  local heads = {}
  local reply = {1, now, cut, heads}
  for i, r in ipairs(chosen) do
    local id, at = candidates[i][2], #reply
    local own = r.own_input or false
    reply[at + 1] = id
    reply[at + 2] = hold(k, id, r, now, request .. struct.pack('>I2', first + i - 1), worker,
      instance, salt)
    reply[at + 3] = own
    call('ZREM', keys[candidates[i][3]], id)
  end
  for i = #chosen + 1, #candidates do
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
end, {}, -10)
