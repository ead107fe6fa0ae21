-- Removes finished executions of one partition whose retention is over.
--
-- args: ids.
-- reply: for each 1 if it was removed, 2 if there was none, 0 if time may have something else to do
--       to it, which the general way decides.

local function retire(k, now, id, queues)
  local r = ff.record.get(k, id)
  if r == nil then
    call('ZREM', k.timer, id)
    return 2
  end
  if not r or r.state ~= C.FINISHED or ff.after(r.until_at, r.retention) > now then
    return 0
  end
  ff.save.remove(k, id, r)
  queues[ff.queue.name(r.ns, r.lane, r.class)] = true
  return 1
end

register('retire', function(keys, args)
  local k, now, replies, queues = ff.keys(keys[1]), now(), {}, {}
  for i, id in ipairs(args) do
    replies[i] = retire(k, now, id, queues)
  end
  for name in pairs(queues) do
    ff.queue.forget(k, name)
  end
  return replies
end, {'allow-oom'}, 0, 1)
