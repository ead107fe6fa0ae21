-- Takes the best executions of some queues in one partition, for one claim or for several in their
-- order, each as if it came alone.
--
-- args: for each claim its request, place of the first lease, how many at most, salt, the highest score
--       to take after the first, 1 if it skips what must be admitted (else 0), worker and instance, all
--       packed into one; what is admitted for the only claim: id, name, the time until which it may be
--       used and the version of each, packed (if there is any, it takes these and nothing else); then
--       the names of one or more queues of one lane. Several claims skip nothing.
-- reply: {1, now, 1 if the lane has a limit, heads, deferred, then the share of each claim}. heads has
--       the score of the new head of each queue, nothing if there is none, with a comma between two;
--       deferred the ids and records of those that must be admitted first, '' if there are none. A share is {1, or 2 if bytes cut it short, then id, record and input (false
--       when it is in the record) of each}, {0} if the slow path decides, because a candidate is not
--       plainly claimable, or {3} if that, or too many bytes, came before its turn: it asks again.
--       {0} for all if the lane is paused or the only claim is left to the slow path. Then at most an
--       entry without a record was removed, or moved to the place of its record.

-- Takes the share of one claim, as far as it can be read. taken has what all claims of the call have taken:
-- which candidates by number, and index entries, which are written by one command for each index.
local function take(k, now, choice, claim, dealt, admitted, taken)
  local candidates, chosen = choice.candidates, choice.chosen or choice.plain
  local share = {dealt.status}
  for i = 1, dealt.count do
    local from = 3 * (dealt.from + i)
    local at, bytes, own = chosen[from - 2], chosen[from - 1], chosen[from]
    local id, place = candidates[3 * at - 2], claim.first + i - 1
    local admission = admitted[id]
    local changed = place < C.PLACES
      and ff.lease.take(k, taken.logs, taken.armed, taken.held, id, bytes, now, claim, place,
        admission and admission.name)
    if not changed then
      break
    end
    local to = #share
    share[to + 1], share[to + 2], share[to + 3] = id, changed, own
    local queue = candidates[3 * at]
    local left = taken.left[queue] or {}
    left[#left + 1], taken.left[queue], taken[at] = id, left, true
  end
  return (#share == 1 and dealt.count > 0) and {0} or share
end

-- The score of the head of the only queue when these candidates are taken, or ''. One more than can be
-- taken was read, so there is none only if nothing is left.
local function new_head(k, name, candidates, taken)
  for i = 1, #candidates / 3 do
    if not taken[i] then
      return candidates[3 * i - 1]
    end
  end
  if k.classed[name] then
    ff.queue.close(k, name)
  end
  return ''
end

-- The score of the head of each queue, with a comma between two.
local function new_heads(k, names, keys)
  local heads = {}
  for i, key in ipairs(keys) do
    heads[i] = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2] or ''
    if heads[i] == '' and k.classed[names[i]] then
      ff.queue.close(k, names[i])
    end
  end
  return table.concat(heads, ',')
end

register('claim', function(routes, args, time)
  local claims, max = ff.claims.read(args[1])
  local k, now, names, keys = ff.keys(routes[1]), time or now(), {}, {}
  local ids, admitted = ff.admitted.read(args[2], now)
  if not claims or not ids then
    return {0}
  end
  for i = 3, #args do
    names[i - 2], keys[i - 2] = args[i], ff.key.queue(k, args[i])
  end
  local only = #claims == 1 and claims[1]
  local choice = #ids > 0 and ff.admitted.choose(k, now, max, names, ids, admitted)
    or ff.candidates.best(k, now, max, only and only.bound or math.huge, names, keys,
      only and only.passes)
  if choice.stale then
    ff.candidates.correct(choice.stale)
  end
  if not choice.chosen and (only or not choice.plain) then
    return {0}
  end
  local deferred = choice.deferred[1] and choice.deferred or ''
  local reply, taken = {1, now, choice.limited and 1 or 0, false, deferred},
    {armed = {}, held = {}, left = {}, logs = {}}
  for i, dealt in ipairs(ff.claims.deal(claims, choice)) do
    reply[5 + i] = apart(take, k, now, choice, claims[i], dealt, admitted, taken)
  end
  if taken.held[1] then
    ff.arm_all(k, taken.armed, now)
    call('ZADD', k.requests, unpack(taken.held))
    for queue, ids in pairs(taken.left) do
      call('ZREM', keys[queue], unpack(ids))
    end
  end
  if only and reply[6][1] == 0 then
    return {0}
  end
  reply[4] = (#ids > 0 or #keys > 1 or choice.stale) and new_heads(k, names, keys)
    or new_head(k, names[1], choice.candidates, taken)
  return reply
end, {}, 2, 1)
