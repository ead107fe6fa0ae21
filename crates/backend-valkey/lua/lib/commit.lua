-- Writes what was decided on records of one partition, if every one still has the version that was
-- decided on and time has not overtaken the decision.
--
-- args: origin, the time it was decided with, the time until which it holds (0 for any), then for
--       each record: its id, the version decided on (8 bytes, '' for none), its new bytes without
--       payloads ('' to remove it), which payload comes with it ('', 'in' or 'out'), the payload,
--       the number of an attempt to store beside it ('' for none), and that attempt.
-- reply: {1, then for each the score of the head it became or ''}, {0} if something has changed,
--       {2} if the decision is too old.

local function still_holds(k, id, before, new)
  local old = call('GET', k.exec .. id)
  if not old then
    if before ~= '' then
      return false
    end
    local r = ff.record.unpack(new)
    return r.key == '' or call('HEXISTS', ff.save.keys_key(k, r.ns), r.key) == 0
  end
  return string.sub(old, 5, 12) == before and old
end

-- A payload is stored in the record when it is short, else under its own key.
local function place_payload(key, bytes)
  if #bytes <= C.INLINE then
    return C.HERE, bytes
  end
  call('SET', key, bytes)
  return C.OWN_KEY, ''
end

local function write(k, now, origin, old, id, new, part, payload, number, attempt)
  local was = old ~= true and ff.record.unpack(old)
  if new == '' then
    ff.save.remove(k, id, was)
    return ''
  end
  local exec, r = k.exec .. id, ff.record.unpack(new)
  if number ~= '' then
    call('HSET', exec .. ':att', number, attempt)
  end
  if was then
    r.input_at, r.input, r.result_at, r.result = was.input_at, was.input, was.result_at, was.result
    if r.run ~= was.run then
      if was.result_at == C.HERE then
        call('SET', exec .. ':out:' .. was.run, was.result)
      end
      r.result_at, r.result = 0, ''
    end
  end
  if part == 'in' then
    r.input_at, r.input = place_payload(exec .. ':in', payload)
  elseif part == 'out' then
    r.result_at, r.result = place_payload(exec .. ':out:' .. r.run, payload)
  end
  if was then
    return ff.save.update(k, id, was, r, now, origin) or ''
  end
  return ff.save.create(k, id, r, now, origin) or ''
end

ff.commit = function(keys, args)
  local k, now = ff.keys(keys[1]), now()
  local decided, holds = tonumber(args[2]), tonumber(args[3])
  if now - decided > C.MAX_AGE or (holds ~= 0 and holds <= now) then
    return {2}
  end
  local olds = {}
  for i = 4, #args, 7 do
    local old = still_holds(k, args[i], args[i + 1], args[i + 2])
    if not old then
      return {0}
    end
    olds[#olds + 1] = old
  end
  local reply = {1}
  for i, old in ipairs(olds) do
    local at = 4 + (i - 1) * 7
    reply[i + 1] = write(k, now, args[1], old, args[at], args[at + 2], unpack(args, at + 3, at + 6))
  end
  return reply
end
