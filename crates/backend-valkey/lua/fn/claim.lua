-- Takes the best executions of some queues in one partition.
--
-- args: request, place of the first lease, how many at most, salt, the highest score to take after
--       the first, 1 if it skips what must be admitted (else 0), worker and instance, packed; what is
--       admitted for this call: id, name, the time until which it may be used and the version of each,
--       packed (if there is any, it takes these and nothing else); then the names of one or more
--       queues of one lane.
-- reply: {1, now, 1 if bytes cut it short, 1 if the lane has a limit, heads, deferred, then id, record
--       and input (false when it is in the record) of each}. heads has the score of the new head of
--       each queue, or ''; deferred the ids and records of those that must be admitted first.
--       {0} if the lane is paused or a candidate is not plainly claimable, which the slow path
--       decides. Then at most an entry without a record was removed, or moved to the place of its
--       record.

-- Takes the chosen candidates, as far as they can be read, and adds them to the reply. Answers which
-- were taken, by number.
local function take(k, now, choice, keys, by, first, admitted, reply)
  local candidates, chosen, taken = choice.candidates, choice.chosen, {}
  for i = 1, #chosen / 3 do
    local at, bytes, own = chosen[3 * i - 2], chosen[3 * i - 1], chosen[3 * i]
    local id, place = candidates[3 * at - 2], first + i - 1
    local admission = admitted[id]
    local changed = place < C.PLACES
      and ff.lease.take(k, id, bytes, now, by, place, admission and admission.name)
    if not changed then
      break
    end
    local to = #reply
    reply[to + 1], reply[to + 2], reply[to + 3] = id, changed, own
    call('ZREM', keys[candidates[3 * at]], id)
    taken[at] = true
  end
  return taken
end

-- The score of the head of the only queue when these candidates are taken, or ''. One more than can be
-- taken was read, so there is none only if nothing is left.
local function new_head(k, name, candidates, taken)
  for i = 1, #candidates / 3 do
    if not taken[i] then
      return {candidates[3 * i - 1]}
    end
  end
  if k.classed[name] then
    ff.queue.close(k, name)
  end
  return {''}
end

-- The score of the head of each queue, or ''.
local function new_heads(k, names, keys)
  local heads = {}
  for i, key in ipairs(keys) do
    heads[i] = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or ''
    if heads[i] == '' and k.classed[names[i]] then
      ff.queue.close(k, names[i])
    end
  end
  return heads
end

register('claim', function(routes, args)
  local whole, $claim = pcall(struct.unpack, '>$CLAIM', args[1])
  local k, now, names, keys = ff.keys(routes[1]), now(), {}, {}
  local ids, admitted = ff.admitted.read(args[2], now)
  if not whole or not ids then
    return {0}
  end
  for i = 3, #args do
    names[i - 2], keys[i - 2] = args[i], ff.key.queue(k, args[i])
  end
  local choice = #ids > 0 and ff.admitted.choose(k, now, max, names, ids, admitted)
    or ff.candidates.best(k, now, max, bound, names, keys, passes == 1)
  if choice.stale then
    ff.candidates.correct(choice.stale)
  end
  if not choice.chosen then
    return {0}
  end
  local by = {request = request, worker = worker, instance = instance, salt = new_salt}
  local reply = {1, now, choice.cut, choice.limited and 1 or 0, false, choice.deferred}
  local taken = take(k, now, choice, keys, by, first, admitted, reply)
  if #reply == 6 and #choice.chosen > 0 then
    return {0}
  end
  reply[5] = (#ids > 0 or #keys > 1) and new_heads(k, names, keys)
    or new_head(k, names[1], choice.candidates, taken)
  return reply
end, {}, 2, 1)
