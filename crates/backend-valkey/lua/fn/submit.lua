-- Accepts new executions of one partition, each independently.
--
-- args: origin (8 bytes, names the calling process), then for each execution: its id, 1 if its
--       delay ends at a fixed time (else 0) and its record as it would be at time 0, packed; and
--       its input if that has a separate key (else '').
-- reply: for each its state, or the score of the head of the queue that it became, or '' if the id or the
--       key is known, the lane is draining, has defaults or is full of classes or the record cannot be
--       read, which the slow path decides; then nothing is written.

-- Accepts one. known has what this call has found out: whether a queue is closed to it, by the name of the
-- queue; what its head does not exceed, by its key; which namespaces are registered, by their names.
local function submit(k, now, known, logs, origin, packed, own_input)
  local named, $submission, at = pcall(struct.unpack, '>$SUBMISSION', packed)
  if not named then
    return ''
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, packed, at)
  if not whole then
    return ''
  end
  local tail_whole, $tail, rest_at = pcall(struct.unpack, ff.record.TAIL, packed, tail_at)
  if not tail_whole or (key ~= '' and ff.save.owner(k, ns, key))
    or (class ~= '' and call('HLEN', ff.key.classes(k, ns, lane)) >= C.CLASSES)
  then
    return ''
  end
  local queue = ff.name.queue(ns, lane, class)
  if known[queue] == nil then
    local _, draining, _, defaults = ff.gate(k, queue)
    known[queue] = draining or defaults
  end
  if known[queue] then
    return ''
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
  local log = ff.events.log_of(k, logs, ns)
  if log then
    if call('EXISTS', ff.key.record(k, id)) == 1 then
      return ''
    end
    ff.events.write(log, C.EVENT_SUBMITTED, until_at, now, id, counter, salt, run, attempts, lane,
      string.sub(packed, rest_at))
  end
  if not ff.save.create(k, id, bytes, ns, created, key, own, nil, known) then
    return ''
  end
  if timer ~= 0 then
    ff.arm(k, k.timer, id, timer, now)
  end
  local head = score ~= C.NO_SCORE
    and ff.queue.join(k, id, score, ns, lane, class, requires, origin, known)
  return head or state
end

register('submit', function(keys, args, time)
  local k, now, known, logs, replies = ff.keys(keys[1]), time or now(), {}, {}, {}
  for i = 2, #args, 2 do
    replies[#replies + 1] = apart(submit, k, now, known, logs, args[1], args[i], args[i + 1])
  end
  return replies
end, {}, 1, 2)
