-- Puts blocked executions of one partition back into their queues, each on its own.
--
-- args: origin (8 bytes, names the calling process), then for each its id, salt and KIND:NAME of what
--       has room, packed.
-- reply: for each {1, namespace, lane, what it requires, score of the head it became or ''}, or {0}
--       if it does not plainly wait for that, which the general way decides; then nothing is written.

-- Puts one back. joined has the queues that this call has put some into, left what they waited for.
local function unblock(k, now, packed, joined, left)
  local named, id, new_salt, on = pcall(struct.unpack, '>c22c4I1c0', packed)
  local exec = named and k.exec .. id
  local bytes = named and call('GET', exec)
  if not bytes or string.byte(bytes) ~= C.FORMAT or string.byte(bytes, 2) ~= C.BLOCKED then
    return {0}
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole or string.sub(blocked, 1, -C.CLASS_NAME - 2) ~= on or (timer ~= 0 and now >= timer)
  then
    return {0}
  end
  local tail_whole, $tail = pcall(struct.unpack, ff.record.TAIL, bytes, tail_at)
  if not tail_whole then
    return {0}
  end
  local queue, was = ff.queue.name(ns, lane, class), timer
  if not joined[queue] then
    joined[queue] = {}
    ff.queue.open(k, queue, ns, lane, class, requires)
  end
  on = ns .. ':' .. blocked
  state, until_at, detail, blocked = C.QUEUED, 0, '', ''
  score, timer = ff.blocked.place(queued_at, priority), deadline
  counter, salt = counter + 1, new_salt
  call('SET', exec, struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at)))
  if timer ~= 0 and timer ~= was then
    ff.save.arm(k, id, timer, now)
  end
  call('ZADD', ff.queue_key(k, queue), score, id)
  if was ~= 0 and timer == 0 then
    call('ZREM', k.timer, id)
  end
  call('ZREM', ff.blocked.key(k, on), id)
  left[on] = true
  local reply = {1, ns, lane, requires, ''}
  joined[queue][id] = reply
  return reply
end

register('unblock', function(keys, args)
  local k, now, joined, left, replies = ff.keys(keys[1]), now(), {}, {}, {}
  for i = 2, #args do
    replies[i - 1] = unblock(k, now, args[i], joined, left)
  end
  for queue, replies in pairs(joined) do
    local head = call('ZRANGE', ff.queue_key(k, queue), 0, 0, 'WITHSCORES')
    local reply = replies[head[1]]
    if reply then
      local ns, lane, class = ff.queue.parts(queue)
      reply[5] = ff.queue.announce(k, tonumber(head[2]), ns, lane, class, reply[4], args[1])
    end
  end
  for on in pairs(left) do
    ff.blocked.close(k, on)
  end
  return replies
end, {'allow-oom'}, 1, 1)
