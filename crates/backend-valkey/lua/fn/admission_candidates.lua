-- Executions at the heads of some queues that must be admitted before they are dispatched.
--
-- keys: routing keys. args: how many of each partition are read, then the names of one or more
--       queues of a lane.
-- reply: for each partition {1 if the lane has a limit (else 0), then id and record of each}. A lane that
--       is paused has none.

local function candidates(k, names, limit)
  local paused, _, limited = ff.gate(k, names[2])
  local found, keys = {limited and 1 or 0}, {}
  if paused then
    return found
  end
  for i = 2, #names do
    keys[i - 1] = ff.key.queue(k, names[i])
  end
  local best = ff.queue.best(keys, limit)
  for i = 1, math.min(#best / 3, limit) do
    local id = best[3 * i - 2]
    local bytes = call('GET', ff.key.record(k, id))
    if bytes and string.byte(bytes) == C.FORMAT and string.byte(bytes, C.STATE_AT) == C.STATE_QUEUED
      and ff.asks(string.byte(bytes, C.LIMITS_AT), limited)
    then
      found[#found + 1] = id
      found[#found + 1] = bytes
    end
  end
  return found
end

register('admission_candidates', function(keys, args)
  local reply = {}
  for i, route in ipairs(keys) do
    reply[i] = candidates(ff.keys(route), args, tonumber(args[1]))
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 1, 1, {1})
