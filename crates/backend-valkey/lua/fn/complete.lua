-- Completes executions of one partition for their holders, each on its own.
--
-- args: for each its id, namespace, fence, salt, what the record remembers of the exit, 1 if the
--       result lives in the record or 2 if it has a key of its own, and what the record says of
--       the result, packed; then the result.
-- reply: for each 1, its record as it was if budgets and quotas had admitted it, or 0 if the caller
--       does not plainly hold it, which the general way decides; then nothing is written.

local function complete(k, now, packed, bytes_out)
  local id, namespace, fence, new_salt, at = ff.hold(packed)
  local bytes = id and ff.held(k, id, fence)
  if not bytes then
    return 0
  end
  local told, exited, place, said = pcall(struct.unpack, '>c33BI2c0', packed, at)
  if not told then
    return 0
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole or ns ~= namespace or timer <= now then
    return 0
  end
  local was, admitted = holder, limits >= 2
  limits = limits % 2
  state, why, until_at, timeout_at, cancel_by = C.FINISHED, C.SUCCESS, now, 0, 0
  counter, salt, timer = counter + 1, new_salt, ff.retired_at(now, retention)
  holder, exit, detail, attempt = '', exited, said, ff.attempt.complete(attempt, now)
  result_at, result = place, bytes_out
  if result_at == C.OWN_KEY then
    call('SET', k.exec .. id .. ':out:' .. run, bytes_out)
    result = ''
  end
  call('SET', k.exec .. id,
    struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at)))
  ff.save.arm(k, id, timer, now)
  call('ZREM', k.requests, string.sub(was, 1, 16) .. id)
  return admitted and bytes or 1
end

register('complete', function(keys, args)
  local k, now, replies = ff.keys(keys[1]), now(), {}
  for i = 1, #args, 2 do
    replies[#replies + 1] = complete(k, now, args[i], args[i + 1])
  end
  return replies
end, {'allow-oom'}, 0, 2)
