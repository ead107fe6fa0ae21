-- What a claim may take of some queues: the best executions that are claimable.
--
-- A choice is a table:
--   candidates  id, score as text and number of the queue of each that was read, one after the other
--   chosen      those to take: number of the candidate, record, and input if that has a separate key
--               (else false), one after the other; false if the lane is paused or a candidate cannot
--               plainly be taken, which the slow path decides
--   plain       those before a candidate that cannot plainly be taken; nil if the lane is paused
--   deferred    id and record of those that must be admitted first
--   cut         1 if bytes cut the choice short, else 0
--   limited     whether the lane has a limit
--   stale       an entry of a queue that does not agree with its record, {key, id, score or nil}, which
--               a fault has left behind; false if none was found
-- Choosing only reads: ff.candidates.correct alone writes.

ff.candidates = {}

-- The record of a candidate, its input if that has a separate key (else false), how long the input
-- is, and true if it must be admitted; nil if it is not plainly claimable, and then its entry if that
-- is stale.
local function claimable(k, id, place, key, now, limited)
  local record = ff.key.record(k, id)
  local bytes = call('GET', record)
  if not bytes then
    return nil, {key, id}
  end
  if string.byte(bytes) ~= C.FORMAT or #bytes < C.FENCE_FROM then
    return nil
  end
  local $ranking = struct.unpack('>$RANKING', bytes, C.SCORE_AT)
  if score == C.NO_SCORE then
    return nil, {key, id}
  end
  if score ~= tonumber(place) then
    return nil, {key, id, score}
  end
  if string.byte(bytes, C.STATE_AT) ~= C.STATE_QUEUED or (deadline ~= 0 and deadline <= now) then
    return nil
  end
  if not ff.flow.lets(k, bytes) then
    return nil
  end
  local $sizing = struct.unpack('>$SIZING', bytes, C.INPUT_PLACE_AT)
  if ff.asks(string.byte(bytes, C.LIMITS_AT), limited) then
    return bytes, false, input_len, true
  end
  local own = input_place == C.PLACE_OWN_KEY and call('GET', ff.key.input(record))
  if input_place == C.PLACE_OWN_KEY and not own then
    return nil
  end
  return bytes, own, input_len
end

-- The best plainly claimable executions of some queues, at most max and BATCH_BYTES of input; after the
-- first, none with a score above bound. A claim that passes skips what must be admitted. Any other
-- gets, at the first that must be admitted, all later ones that must.
function ff.candidates.best(k, now, max, bound, names, keys, passes)
  local most = passes and math.max(max, C.ADMISSION_LOOKAHEAD) or max
  -- One more than can be taken: of a single queue it is the next head.
  local candidates = ff.queue.best(keys, most + 1)
  local chosen, deferred, bytes, i = {}, {}, 0, 0
  local choice = {candidates = candidates, chosen = false, deferred = deferred, cut = 0,
    limited = false, stale = false}
  if #candidates > 0 then
    local paused, _, limited = ff.gate(k, names[1])
    choice.limited = limited
    if paused then
      return choice
    end
  end
  while i < most and 3 * i < #candidates and #chosen < 3 * max do
    i = i + 1
    local id, place, queue = candidates[3 * i - 2], candidates[3 * i - 1], candidates[3 * i]
    if i > 1 and tonumber(place) > bound then
      break
    end
    local record, own, len, asks = claimable(k, id, place, keys[queue], now, choice.limited)
    if not record then
      choice.stale = own or false
      if passes or i <= max then
        choice.plain = chosen
        return choice
      end
      break
    end
    if i <= max or passes and not asks then
      bytes = bytes + (passes and asks and 0 or len)
      if bytes > C.BATCH_BYTES and (#chosen > 0 or (i > 1 and not passes)) then
        choice.cut = 1
        break
      end
    end
    if asks then
      deferred[#deferred + 1] = id
      deferred[#deferred + 1] = record
      if not passes and most < C.ADMISSION_LOOKAHEAD then
        most = C.ADMISSION_LOOKAHEAD
        candidates = ff.queue.best(keys, most + 1)
        choice.candidates = candidates
      end
    elseif passes or i <= max then
      local at = #chosen
      chosen[at + 1], chosen[at + 2], chosen[at + 3] = i, record, own
    end
  end
  choice.chosen = chosen
  return choice
end

-- Makes a stale entry agree with its record.
function ff.candidates.correct(stale)
  local key, id, score = stale[1], stale[2], stale[3]
  if score then
    call('ZADD', key, score, id)
  else
    call('ZREM', key, id)
  end
end
