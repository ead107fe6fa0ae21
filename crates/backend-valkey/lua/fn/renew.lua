-- Extends leases of one partition for their holders, each on its own.
--
-- args: for each its id, namespace, lease (18 bytes), epoch, attempt and salt.
-- reply: for each {until, time by which it must stop or 0}, or {} if the caller does not plainly
--       hold it, which the general way decides; then nothing is written.

local function renew(k, now, id, ns, lease, epoch, attempt, salt)
  local r = ff.record.get(k, id)
  if not ff.held(r, now, ns, lease, epoch, attempt) then
    return {}
  end
  local was = ff.save.was(r)
  r.until_at = ff.after(now, r.lease_ttl)
  r.timer = ff.earliest(ff.earliest(r.until_at, r.timeout_at, r.deadline), r.cancel_by)
  ff.record.touch(r, salt)
  ff.save.update(k, id, was, r, now, '')
  return {r.until_at, r.cancel_by}
end

register('renew', function(keys, args)
  local k, now, replies = ff.keys(keys[1]), now(), {}
  for i = 1, #args, 6 do
    replies[#replies + 1] = renew(k, now, unpack(args, i, i + 5))
  end
  return replies
end, {'allow-oom'}, -6)
