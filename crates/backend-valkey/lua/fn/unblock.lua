-- Returns blocked executions of one partition to their queues, each independently.
--
-- args: origin (8 bytes, names the calling process), then for each its id, salt and KIND:NAME of the
--       limit that has capacity, packed.
-- reply: the queues that they returned to, each {namespace, lane, what it requires, score of its head if
--       that is one of them, else ''}; then for each the number of its queue, negative if it became the
--       head, or 0 if it does not plainly wait for that, which the slow path decides; then nothing is
--       written.

-- The queue that an execution returns to; queues has those of the call, by number and by name.
local function returned_to(k, queues, ns, lane, class, requires)
  local name = ff.name.queue(ns, lane, class)
  local queue = queues[name]
  if not queue then
    ff.queue.open(k, name, ns, lane, class, requires)
    queue = {number = #queues + 1, key = ff.key.queue(k, name), class = class, entries = {},
      places = {}, reply = {ns, lane, requires, ''}}
    queues[queue.number], queues[name] = queue, queue
  end
  return queue
end

-- Returns one, the one at a place of the call. Index entries of all are written by one command for each
-- index: left has the ids by what they waited for, armed and disarmed the timers.
local function unblock(k, now, logs, packed, place, queues, left, armed, disarmed)
  local named, $release = pcall(struct.unpack, '>$RELEASE', packed)
  local record = named and ff.key.record(k, id)
  local bytes = named and call('GET', record)
  if not bytes or string.byte(bytes) ~= C.FORMAT
    or string.byte(bytes, C.STATE_AT) ~= C.STATE_BLOCKED
  then
    return 0
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole or ff.name.limit(blocked) ~= on or (timer ~= 0 and now >= timer) then
    return 0
  end
  local tail_whole, $tail, rest_at = pcall(struct.unpack, ff.record.TAIL, bytes, tail_at)
  if not tail_whole then
    return 0
  end
  local queue, was = returned_to(k, queues, ns, lane, class, requires), timer
  local waited = ff.name.blocked(ns, blocked)
  state, until_at, detail, blocked = C.STATE_QUEUED, 0, '', ''
  score, timer = ff.blocked.place(queued_at, priority), deadline
  counter, salt = counter + 1, new_salt
  local log = ff.events.log_of(k, logs, ns)
  if log then
    ff.events.write(log, C.EVENT_UNBLOCKED, why > C.LAST_START and 1 or 0, now, id, counter, salt, run,
      attempts, lane, string.sub(bytes, rest_at))
  end
  call('SET', record, struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at)))
  if timer ~= 0 and timer ~= was then
    armed[#armed + 1], armed[#armed + 2] = timer, id
  end
  local entries = queue.entries
  entries[#entries + 1], entries[#entries + 2], queue.places[id] = score, id, place
  if was ~= 0 and timer == 0 then
    disarmed[#disarmed + 1] = id
  end
  local ids = left[waited] or {}
  ids[#ids + 1], left[waited] = id, ids
  return queue.number
end

-- Writes the entries of a queue. A new head is announced. Answers the place of the one that became it.
local function join(k, queue, origin)
  call('ZADD', queue.key, unpack(queue.entries))
  local head = call('ZRANGE', queue.key, 0, 0, 'WITHSCORES')
  local place, reply = queue.places[head[1]], queue.reply
  if place then
    reply[4] = ff.queue.announce(k, tonumber(head[2]), reply[1], reply[2], queue.class, reply[3],
      origin)
  end
  return place
end

register('unblock', function(keys, args)
  local k, now, queues, left, armed, disarmed = ff.keys(keys[1]), now(), {}, {}, {}, {}
  local logs, replies = {}, {{}}
  for i = 2, #args do
    replies[i] = apart(unblock, k, now, logs, args[i], i, queues, left, armed, disarmed)
  end
  ff.arm_all(k, armed, now)
  for number, queue in ipairs(queues) do
    local place = queue.entries[1] and join(k, queue, args[1])
    replies[1][number] = queue.reply
    if place then
      replies[place] = -number
    end
  end
  if disarmed[1] then
    call('ZREM', k.timer, unpack(disarmed))
  end
  for waited, ids in pairs(left) do
    call('ZREM', ff.key.blocked(k, waited), unpack(ids))
    ff.blocked.close(k, waited)
  end
  return replies
end, {'allow-oom'}, 1, 1)
