-- Puts blocked executions of one partition back into their queues, each on its own.
--
-- args: origin (8 bytes, names the calling process), then for each its id, salt, KIND:NAME of what
--       has room and the name it is admitted under ('' for none), packed.
-- reply: for each {1, namespace, lane, what it requires, score of the head it became or ''}, or {0}
--       if it does not plainly wait for that, which the general way decides; then nothing is written.

local function unblock(k, now, origin, packed)
  local whole, id, salt, on, name = pcall(struct.unpack, '>c22c4I1c0I1c0', packed)
  local r = whole and ff.record.get(k, id)
  if not r or r.state ~= C.BLOCKED or r.blocked ~= on or r.admission ~= ''
    or (r.timer ~= 0 and now >= r.timer)
  then
    return {0}
  end
  local was = {
    timer = r.timer, holder = r.holder, attention = r.attention, score = r.score,
    blocked = r.blocked, ns = r.ns, queued_at = r.queued_at, priority = r.priority,
  }
  r.state, r.until_at, r.detail, r.blocked = C.QUEUED, 0, '', ''
  r.score, r.timer = ff.blocked.place(r), r.deadline
  if name ~= '' then
    r.control, r.admission = r.control + 2, name
  end
  r.counter, r.salt = r.counter + 1, salt
  local head = ff.save.update(k, id, was, r, now, origin)
  return {1, r.ns, r.lane, r.requires, head or ''}
end

register('unblock', function(keys, args)
  local k, now, replies = ff.keys(keys[1]), now(), {}
  for i = 2, #args do
    replies[#replies + 1] = unblock(k, now, args[1], args[i])
  end
  return replies
end, {'allow-oom'}, 1, 1)
