-- Accepts new executions of one partition, each on its own.
--
-- args: origin (8 bytes, names the calling process), then for each execution: its id, its record
--       as it would be at time 0, 'a' if its delay ends at a fixed time (else ''), and its input
--       if that has a key of its own (else '').
-- reply: for each {1, state, score of the head it became or ''}, or {0} if the id or the key is
--       known or the lane is full of classes, which the general way decides; then nothing is
--       written.

local function submit(k, now, origin, id, template, fixed, input)
  local r = ff.record.unpack(template)
  if (r.key ~= '' and call('HEXISTS', ff.save.keys_key(k, r.ns), r.key) == 1)
    or (r.class ~= '' and call('HLEN', ff.queue.classes_key(k, r.ns, r.lane)) >= C.CLASSES)
  then
    return {0}
  end
  r.created, r.queued_at, r.started = now, now, now
  if r.deadline ~= 0 then
    r.deadline = ff.after(now, r.deadline)
  end
  if r.state == C.DELAYED and fixed == '' then
    r.until_at = ff.after(now, r.until_at)
  end
  if r.state == C.DELAYED and r.until_at <= now then
    r.state, r.why, r.until_at = C.QUEUED, C.FRESH, 0
  end
  r.score = r.state == C.QUEUED and now - r.priority * C.PRIORITY_STEP or C.NO_SCORE
  r.timer = ff.earliest(r.deadline, r.until_at)
  if r.input_at == C.OWN_KEY and not call('SET', k.exec .. id .. ':in', input, 'NX') then
    return {0}
  end
  local head = ff.save.create(k, id, r, now, origin)
  if head == nil then
    if r.input_at == C.OWN_KEY then
      call('DEL', k.exec .. id .. ':in')
    end
    return {0}
  end
  return {1, r.state, head or ''}
end

register('submit', function(keys, args)
  local k, now, replies = ff.keys(keys[1]), now(), {}
  for i = 2, #args, 4 do
    replies[#replies + 1] = submit(k, now, args[1], args[i], args[i + 1], args[i + 2], args[i + 3])
  end
  return replies
end, {}, -5)
