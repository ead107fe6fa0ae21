-- A page of a collection beside a record, for an audit.
--
-- args: id, collection, place to continue from ('0' for the start).
-- reply: {the next place ('0' at the end), then number and attempt of each, or number and length of
--       each; a name that leads to no element of that name comes in the place of a number}.

-- Whether the element of a number has this name.
local function leads(key, name, number)
  local bytes = call('HGET', key, number)
  local whole, _, found = pcall(struct.unpack, '>$ELEMENT', bytes or '')
  return whole and found == name
end

-- How long the bytes of an element are.
local function length(bytes)
  local whole, $element, at = pcall(struct.unpack, '>$ELEMENT', bytes)
  return whole and #bytes - at + 1 or -1
end

register('dump_elements', function(keys, args)
  local k, collection = ff.keys(keys[1]), tonumber(args[2])
  local key = ff.key.collection(ff.key.record(k, args[1]), collection)
  if collection == C.COLLECTION_FRAMES then
    return ff.frames.page(key, args[3])
  end
  local page = call('HSCAN', key, args[3], 'COUNT', C.ELEMENTS)
  local reply = {page[1]}
  for i = 1, #page[2], 2 do
    local field, value = page[2][i], page[2][i + 1]
    if string.sub(field, 1, 1) == '=' then
      if not leads(key, string.sub(field, 2), value) then
        reply[#reply + 1], reply[#reply + 2] = field, 0
      end
    else
      local is_attempt = collection == C.COLLECTION_ATTEMPTS
      reply[#reply + 1], reply[#reply + 2] = field, is_attempt and value or length(value)
    end
  end
  return reply
end, {'no-writes'}, 3, nil, {2})
