-- Returns blocked executions of one partition to their queues, each independently.
--
-- args: origin (8 bytes, names the calling process), then for each its id, salt and KIND:NAME of the
--       limit that has capacity, packed.
-- reply: for each {1, namespace, lane, what it requires, score of the head it became or ''}, or {0}
--       if it does not plainly wait for that, which the slow path decides; then nothing is written.

-- Returns one. joined has the queues that this call has added to, left the limits that were waited for.
local function unblock(k, now, packed, joined, left)
  local named, $release = pcall(struct.unpack, '>$RELEASE', packed)
  local record = named and ff.key.record(k, id)
  local bytes = named and call('GET', record)
  if not bytes or string.byte(bytes) ~= C.FORMAT
    or string.byte(bytes, C.STATE_AT) ~= C.STATE_BLOCKED
  then
    return {0}
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole or ff.name.limit(blocked) ~= on or (timer ~= 0 and now >= timer) then
    return {0}
  end
  local tail_whole, $tail = pcall(struct.unpack, ff.record.TAIL, bytes, tail_at)
  if not tail_whole then
    return {0}
  end
  local queue, was = ff.name.queue(ns, lane, class), timer
  if not joined[queue] then
    joined[queue] = {}
    ff.queue.open(k, queue, ns, lane, class, requires)
  end
  local waited = ff.name.blocked(ns, blocked)
  state, until_at, detail, blocked = C.STATE_QUEUED, 0, '', ''
  score, timer = ff.blocked.place(queued_at, priority), deadline
  counter, salt = counter + 1, new_salt
  call('SET', record, struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at)))
  if timer ~= 0 and timer ~= was then
    ff.arm(k, k.timer, id, timer, now)
  end
  call('ZADD', ff.key.queue(k, queue), score, id)
  if was ~= 0 and timer == 0 then
    call('ZREM', k.timer, id)
  end
  call('ZREM', ff.key.blocked(k, waited), id)
  left[waited] = true
  local reply = {1, ns, lane, requires, ''}
  joined[queue][id] = reply
  return reply
end

register('unblock', function(keys, args)
  local k, now, joined, left, replies = ff.keys(keys[1]), now(), {}, {}, {}
  for i = 2, #args do
    replies[i - 1] = apart(unblock, k, now, args[i], joined, left)
  end
  for queue, replies in pairs(joined) do
    local head = call('ZRANGE', ff.key.queue(k, queue), 0, 0, 'WITHSCORES')
    local reply = replies[head[1]]
    if reply then
      local ns, lane, class = ff.name.parts(queue)
      reply[5] = ff.queue.announce(k, tonumber(head[2]), ns, lane, class, reply[4], args[1])
    end
  end
  for waited in pairs(left) do
    ff.blocked.close(k, waited)
  end
  return replies
end, {'allow-oom'}, 1, 1)
