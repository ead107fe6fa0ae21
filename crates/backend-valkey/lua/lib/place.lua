-- Makes the entries and payloads of a record what they should be, whatever they are.

-- Makes an index agree with the record of id. Answers how much was missing and how much was in
-- excess. An entry that does not belong to its record is found from the index itself.
local function agree(index, k, id, r)
  local member, score = index.entry(r, id)
  if member and index.put then
    return index.put(k, id, r), 0
  elseif member then
    return call('ZADD', index.key(k, index.of(r)), 'CH', score, member), 0
  end
  local of = not index.id and index.of(r)
  return 0, of and call('ZREM', index.key(k, of), id) or 0
end

-- Removes what is next to the record of id and does not belong to it. Answers how much there was.
local function clear(k, id, r)
  local record, extra = ff.key.record(k, id), 0
  if r.input_place ~= C.PLACE_OWN_KEY then
    extra = extra + call('DEL', ff.key.input(record))
  end
  if r.result_place ~= C.PLACE_OWN_KEY then
    extra = extra + call('DEL', ff.key.result(record, r.run))
  end
  return extra + ff.elements.clear(record, r) + ff.continuations.clear(record)
end

-- Restores what the record of id lacks and removes what does not belong to it. Answers how much was missing
-- and how much was in excess.
ff.place = function(k, id, r)
  local missing, extra = 0, 0
  for _, index in ipairs(ff.placement) do
    local lacked, disowned = agree(index, k, id, r)
    missing, extra = missing + lacked, extra + disowned
  end
  return missing, extra + clear(k, id, r)
end
