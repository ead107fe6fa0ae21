-- Extends leases of one partition for their holders, each independently.
--
-- args: for each its id, namespace, fence and salt, packed.
-- reply: for each {until, time by which it must stop or 0}, or {} if the caller does not plainly
--       hold it, which the slow path decides; then nothing is written.

local function renew(k, now, armed, packed)
  local id, namespace, fence, new_salt = ff.lease.shown(packed)
  local bytes = id and ff.lease.held(k, id, fence)
  if not bytes then
    return {}
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole or ns ~= namespace or timer <= now then
    return {}
  end
  local was = timer
  until_at = ff.after(now, lease_ttl)
  timer = ff.earliest(ff.earliest(until_at, timeout_at, deadline), cancel_by)
  counter, salt = counter + 1, new_salt
  call('SET', ff.key.record(k, id),
    struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at)))
  if timer ~= was then
    armed[#armed + 1], armed[#armed + 2] = timer, id
  end
  return {until_at, cancel_by}
end

register('renew', function(keys, args, time)
  local k, now, armed, replies = ff.keys(keys[1]), time or now(), {}, {}
  for i, packed in ipairs(args) do
    replies[i] = apart(renew, k, now, armed, packed)
  end
  ff.arm_all(k, armed, now)
  return replies
end, {'allow-oom'}, 0, 1)
