-- Takes the best executions of some classes of a lane in one partition.
--
-- args: namespace, lane, request (16 bytes), index of the first lease, how many at most, worker,
--       instance, salt, the highest score to take after the first ('' for any), then one or more
--       classes ('' is the one without requirements).
-- reply: {1, now, 1 if bytes cut it short, heads, then record and input (false when it is in the
--       record) of each}. heads has the score of the new head of each class, or ''.
--       {0} if a candidate is not plainly claimable, which the general way decides.

local function claimable(k, now, candidate)
  local r = ff.record.get(k, candidate[2])
  if r == nil or (r and r.score ~= candidate[1]) then
    -- No record owns this entry: what a fault left behind.
    call('ZREM', candidate[3], candidate[2])
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

local function hold(k, id, r, now, lease, worker, instance, salt)
  local was = ff.save.was(r)
  local starts = r.why <= C.LAST_START
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
  ff.save.update(k, id, was, r, now, '', true)
end

register('claim', function(keys, args)
  local ns, lane, request, first, max, worker, instance, salt, bound = unpack(args, 1, 9)
  local classes = {unpack(args, 10)}
  local k, now, bytes, cut, chosen = ff.keys(keys[1]), now(), 0, 0, {}
  for _, candidate in ipairs(ff.queue.best(k, ns, lane, classes, tonumber(max))) do
    if #chosen > 0 and bound ~= '' and candidate[1] > tonumber(bound) then
      break
    end
    local r = claimable(k, now, candidate)
    if not r then
      return {0}
    end
    bytes = bytes + #(r.own_input or r.input)
    if bytes > C.BATCH_BYTES and #chosen > 0 then
      cut = 1
      break
    end
    chosen[#chosen + 1] = {candidate[2], r, candidate[3]}
  end
  local heads = {}
  local reply = {1, now, cut, heads}
  for i, one in ipairs(chosen) do
    local id, r = one[1], one[2]
    local own = r.own_input or false
    hold(k, id, r, now, request .. struct.pack('>I2', first + i - 1), worker, instance, salt)
    call('ZREM', one[3], id)
    reply[#reply + 1] = id
    reply[#reply + 1] = ff.record.pack(r)
    reply[#reply + 1] = own
  end
  for i, class in ipairs(classes) do
    local head = call('ZRANGE', ff.queue.key(k, ns, lane, class), 0, 0, 'WITHSCORES')
    heads[i] = head[2] or ''
    if not head[2] then
      ff.queue.close(k, ns, lane, class)
    end
  end
  return reply
end, {}, -10)
