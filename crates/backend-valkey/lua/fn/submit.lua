-- Accepts new executions of one partition, each independently.
--
-- args: origin (8 bytes, names the calling process), then for each execution: its id, 1 if its
--       delay ends at a fixed time (else 0) and its record as it would be at time 0, packed; and
--       its input if that has a separate key (else '').
-- reply: for each {1, state, score of the head it became or ''}, or {0} if the id or the key is
--       known, the lane is draining, has defaults or is full of classes or the record cannot be read,
--       which the slow path decides; then nothing is written.

local function submit(k, now, gates, origin, packed, own_input)
  local named, $submission, at = pcall(struct.unpack, '>$SUBMISSION', packed)
  if not named then
    return {0}
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, packed, at)
  if not whole then
    return {0}
  end
  local tail_whole, $tail, rest_at = pcall(struct.unpack, ff.record.TAIL, packed, tail_at)
  if not tail_whole or (key ~= '' and ff.save.owner(k, ns, key))
    or (class ~= '' and call('HLEN', ff.key.classes(k, ns, lane)) >= C.CLASSES)
  then
    return {0}
  end
  local queue = ff.name.queue(ns, lane, class)
  if gates[queue] == nil then
    local _, draining, _, defaults = ff.gate(k, queue)
    gates[queue] = draining or defaults
  end
  if gates[queue] then
    return {0}
  end
  created, queued_at, started = now, now, now
  if deadline ~= 0 then
    deadline = ff.after(now, deadline)
  end
  if state == C.STATE_DELAYED and fixed == 0 then
    until_at = ff.after(now, until_at)
  end
  if state == C.STATE_DELAYED and until_at <= now then
    state, why, until_at = C.STATE_QUEUED, C.INTENT_FRESH, 0
  end
  score = C.NO_SCORE
  if state == C.STATE_QUEUED then
    score = math.min(now - priority * C.PRIORITY_STEP, C.SCORE_MAX)
  end
  timer = ff.earliest(deadline, until_at)
  local bytes =
    struct.pack(ff.record.WHOLE, $packed_head, $packed_tail, string.sub(packed, rest_at))
  local own = input_place == C.PLACE_OWN_KEY and own_input
  if not ff.save.create(k, id, bytes, ns, created, key, own) then
    return {0}
  end
  if timer ~= 0 then
    ff.arm(k, k.timer, id, timer, now)
  end
  local head = score ~= C.NO_SCORE and ff.queue.join(k, id, score, ns, lane, class, requires, origin)
  return {1, state, head or ''}
end

register('submit', function(keys, args)
  local k, now, gates, replies = ff.keys(keys[1]), now(), {}, {}
  for i = 2, #args, 2 do
    replies[#replies + 1] = apart(submit, k, now, gates, args[1], args[i], args[i + 1])
  end
  return replies
end, {}, 1, 2)
