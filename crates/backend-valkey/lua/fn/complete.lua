-- Completes executions of one partition for their holders, each on its own.
--
-- args: for each its id, namespace, fence, what the record remembers of the exit, salt (4 bytes),
--       what the record says of the result, 1 if the result lives in the record or 2 if it has a
--       key of its own, and the result.
-- reply: for each 1, or 0 if the caller does not plainly hold it, which the general way decides;
--       then nothing is written.

local function complete(k, now, id, namespace, fence, exited, new_salt, said, at, bytes_out)
  local bytes = ff.held(k, id, fence)
  if not bytes or #new_salt ~= 4 then
    return 0
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole or ns ~= namespace or timer <= now then
    return 0
  end
  local was = holder
  state, why, until_at, timeout_at, cancel_by = C.FINISHED, C.SUCCESS, now, 0, 0
  counter, salt, timer = counter + 1, new_salt, ff.after(now, retention)
  holder, exit, detail, attempt = '', exited, said, ff.attempt.complete(attempt, now)
  result_at, result = tonumber(at), bytes_out
  if result_at == C.OWN_KEY then
    call('SET', k.exec .. id .. ':out:' .. run, bytes_out)
    result = ''
  end
  call('SET', k.exec .. id,
    struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at)))
  ff.save.arm(k, id, timer, now)
  call('ZREM', k.requests, string.sub(was, 1, 16) .. id)
  return 1
end

register('complete', function(keys, args)
  local k, now, replies = ff.keys(keys[1]), now(), {}
  for i = 1, #args, 8 do
    replies[#replies + 1] = complete(k, now, unpack(args, i, i + 7))
  end
  return replies
end, {'allow-oom'}, 0, 8, {7})
