-- Completes executions of one partition for their holders, each on its own.
--
-- args: for each its id, namespace, lease (18 bytes), epoch, attempt, digest of the call (8 bytes),
--       salt, what the record says of the result, 1 if the result lives in the record or 2 if it
--       has a key of its own, and the result.
-- reply: for each 1, or 0 if the caller does not plainly hold it, which the general way decides;
--       then nothing is written.

local function complete(k, now, id, ns, lease, epoch, attempt, digest, salt, detail, at, result)
  local r = ff.record.get(k, id)
  if not ff.held(r, now, ns, lease, epoch, attempt) then
    return 0
  end
  local was = ff.save.was(r)
  local own = tonumber(at) == C.OWN_KEY
  if own then
    call('SET', k.exec .. id .. ':out:' .. r.run, result)
  end
  r.state, r.why, r.until_at, r.timeout_at, r.cancel_by = C.FINISHED, C.SUCCESS, now, 0, 0
  r.holder, r.detail, r.timer = '', detail, ff.after(now, r.retention)
  r.exit = lease .. digest .. struct.pack('>BI6', C.EXIT_COMPLETED, 0)
  r.attempt = ff.attempt.complete(r.attempt, now)
  r.result_at, r.result = tonumber(at), own and '' or result
  ff.record.touch(r, salt)
  ff.save.update(k, id, was, r, now, '')
  return 1
end

register('complete', function(keys, args)
  local k, now, replies = ff.keys(keys[1]), now(), {}
  for i = 1, #args, 10 do
    replies[#replies + 1] = complete(k, now, unpack(args, i, i + 9))
  end
  return replies
end, {'allow-oom'}, -10)
