-- What a claim may take of its admissions: these executions and nothing else, each under
-- its admission, which is for one version of the record. A choice is as in lib/candidates; nothing is
-- written here.

local ADMITTED = '>$ADMITTED'

ff.admitted = {}

-- The ids of the admitted executions, and by id the ids of the admissions that may still be used, each
-- for one version of the record; nil if they cannot be read.
function ff.admitted.read(packed, now)
  local ids, admitted, at = {}, {}, 1
  while at <= #packed do
    local whole, $admitted, rest = pcall(struct.unpack, ADMITTED, packed, at)
    if not whole then
      return nil
    end
    ids[#ids + 1] = id
    admitted[id] = now < usable_until and {name = name, counter = counter, salt = salt} or nil
    at = rest
  end
  return ids, admitted
end

-- The number of the queue of a record, how long its input is, where that is, its limits and its
-- version; nil if it cannot plainly be taken.
local function placed(record, queues, now)
  if string.byte(record) ~= C.FORMAT then
    return nil
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, record)
  if not whole or (deadline ~= 0 and deadline <= now) then
    return nil
  end
  local tail_whole, $tail = pcall(struct.unpack, ff.record.TAIL, record, tail_at)
  if tail_whole then
    return queues[ff.name.queue(ns, lane, class)], input_len, input_place, limits, counter, salt
  end
end

-- Those of ids that still wait in one of the queues and may be claimed under their admissions, which
-- are by id. An admission for another version of the record is dropped.
function ff.admitted.choose(k, now, max, names, ids, admitted)
  local queues = {}
  for i, name in ipairs(names) do
    queues[name] = i
  end
  local candidates, chosen, bytes = {}, {}, 0
  local choice = {candidates = candidates, chosen = false, deferred = {}, cut = 0, stale = false}
  local paused, _, limited = ff.gate(k, names[1])
  for _, id in ipairs(ids) do
    local exec = ff.key.record(k, id)
    local record = call('GET', exec)
    if record and string.byte(record, C.STATE_AT) == C.STATE_QUEUED then
      local queue, input_len, input_place, limits, counter, salt = placed(record, queues, now)
      if not queue then
        return choice
      end
      local seen = admitted[id]
      if seen and (seen.counter ~= counter or seen.salt ~= salt) then
        admitted[id] = nil
      end
      local asks = ff.asks(limits, limited) and not admitted[id]
      if not asks and paused then
        return choice
      end
      if not asks and #chosen < 3 * max then
        if not ff.flow.lets(k, record) then
          return choice
        end
        bytes = bytes + input_len
        if bytes > C.BATCH_BYTES and #chosen > 0 then
          choice.cut = 1
          break
        end
        local own = input_place == C.PLACE_OWN_KEY and call('GET', ff.key.input(exec))
        if input_place == C.PLACE_OWN_KEY and not own then
          return choice
        end
        local at, to = #candidates, #chosen
        candidates[at + 1], candidates[at + 2], candidates[at + 3] = id, '', queue
        chosen[to + 1], chosen[to + 2], chosen[to + 3] = #candidates / 3, record, own
      end
    end
  end
  choice.chosen = chosen
  return choice
end
