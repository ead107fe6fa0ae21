-- Removes finished executions of one partition whose retention is over.
--
-- args: ids.
-- reply: for each 1 if it was removed, 2 if there was none, 0 if its timer may be for something
--       else, or it has members, which the slow path decides.

local function retire(k, now, logs, id, closing)
  local bytes = call('GET', ff.key.record(k, id))
  if not bytes then
    call('ZREM', k.timer, id)
    return 2
  end
  if string.byte(bytes) ~= C.FORMAT or string.byte(bytes, C.STATE_AT) ~= C.STATE_FINISHED then
    return 0
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole or member ~= '' or ff.retired_at(until_at, retention) > now then
    return 0
  end
  local tail_whole, $tail, rest_at = pcall(struct.unpack, ff.record.TAIL, bytes, tail_at)
  if not tail_whole then
    return 0
  end
  local log = ff.events.log_of(k, logs, ns)
  if log then
    -- The record is not written again; its removal has the version that it would get.
    ff.events.write(log, C.EVENT_RETIRED, 0, now, id, counter + 1, salt, run, attempts, lane,
      string.sub(bytes, rest_at))
  end
  ff.save.remove(k, id, ns, attention, key, run)
  local name = ff.name.queue(ns, lane, class)
  closing[name] = closing[name] or {ns, lane, class}
  return 1
end

register('retire', function(keys, args)
  local k, now, logs, replies, closing, gone = ff.keys(keys[1]), now(), {}, {}, {}, {}
  for i, id in ipairs(args) do
    replies[i] = apart(retire, k, now, logs, id, closing)
    gone[#gone + 1] = replies[i] == 1 and id or nil
  end
  for _, queue in pairs(closing) do
    ff.save.close(k, unpack(queue))
  end
  ff.save.ended(k, gone)
  return replies
end, {'allow-oom'}, 0, 1)
