-- Completes executions of one partition for their holders, each independently.
--
-- args: for each its id, namespace, fence, salt, the exit as the record stores it, where the
--       result belongs (C.PLACE_HERE or C.PLACE_OWN_KEY), and the detail that the record stores, packed;
--       then the result.
-- reply: now, then for each its record as it was, or 0 if the caller does not plainly hold it, which the
--       slow path decides; then nothing is written.

-- Answers the reply, and the id if it is completed. Adds its timer to armed and what no longer holds it
-- to released: index entries of all are written by one command.
local function complete(k, now, logs, armed, released, packed, bytes_out)
  local id, namespace, fence, new_salt, at = ff.lease.shown(packed)
  local bytes = id and ff.lease.held(k, id, fence)
  if not bytes then
    return 0
  end
  local readable, $completion = pcall(struct.unpack, '>$COMPLETION', packed, at)
  if not readable then
    return 0
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole or ns ~= namespace or timer <= now or attention ~= C.ATTENTION_NONE or member ~= '' then
    return 0
  end
  local record, was = ff.key.record(k, id), holder
  limits = bit.band(limits, C.LIMITS_NAMED)
  state, why, until_at = C.STATE_FINISHED, C.OUTCOME_SUCCESS, now
  timeout_at, cancel_by = 0, 0
  counter, salt, timer = counter + 1, new_salt, ff.retired_at(now, retention)
  holder, exit, detail, attempt = '', exited, said, ff.attempt.complete(attempt, now)
  result_place, result = place, bytes_out
  ff.events.happened(k, logs, ns, C.EVENT_COMPLETED, 0, now, id, counter, salt, run, attempts, bytes,
    tail_at)
  if result_place == C.PLACE_OWN_KEY then
    call('SET', ff.key.result(record, run), bytes_out)
    result = ''
  end
  call('SET', record, struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at)))
  armed[#armed + 1], armed[#armed + 2] = timer, id
  released[#released + 1] = ff.name.request(was, id)
  return bytes, id
end

register('complete', function(keys, args, time)
  local k, now, armed, released, ended = ff.keys(keys[1]), time or now(), {}, {}, {}
  local logs, replies = {}, {now}
  for i = 1, #args, 2 do
    replies[#replies + 1], ended[#ended + 1] =
      apart(complete, k, now, logs, armed, released, args[i], args[i + 1])
  end
  if released[1] then
    ff.arm_all(k, armed, now)
    call('ZREM', k.requests, unpack(released))
  end
  ff.save.ended(k, ended)
  return replies
end, {'allow-oom'}, 0, 2)
