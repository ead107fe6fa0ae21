-- Elements beside a record: a hash for each collection. The field of a number has an element, the
-- field =NAME the number of the newest one of that name. Frames are a stream (see lib/frames). All elements that a write adds to a collection
-- are written by one call, before the record that counts them; so a fault leaves at most elements past
-- the count, which no reader sees, which the next write replaces, and which repair removes.

-- What stands before the bytes of an element, unless it is an attempt: the number of the one that had
-- its name before, and 1, or 0; and its name.
local HEAD = '>$ELEMENT'

ff.elements = {}

-- How many elements of a collection a record counts. Those of one that grows alone are all there are.
function ff.elements.counted(r, collection)
  if collection == C.COLLECTION_ATTEMPTS then
    return math.max(r.attempts - 1, 0)
  end
  local at = 1
  while at <= #r.counts do
    local found, count
    found, count, at = struct.unpack('>$COUNT', r.counts, at)
    if found == collection then
      return collection == C.COLLECTION_FRAMES and math.huge or count
    end
  end
  return 0
end

-- Takes an uncounted element back, with its name. Answers 1 if it was there.
local function take_back(key, collection, number)
  local left = call('HGET', key, number)
  if not left then
    return 0
  end
  if collection ~= C.COLLECTION_ATTEMPTS then
    local whole, earlier, name = pcall(struct.unpack, HEAD, left)
    if whole and name ~= '' and call('HGET', key, '=' .. name) == number then
      if earlier == 0 then
        call('HDEL', key, '=' .. name)
      else
        call('HSET', key, '=' .. name, string.format('%.0f', earlier - 1))
      end
    end
  end
  return call('HDEL', key, number)
end

-- Adds an element to the fields of one HSET. newest has the names that it will set.
local function add(key, collection, number, name, bytes, fields, newest)
  -- A summary is replaced as a whole: one that a fault leaves is the new one or the old one.
  if collection ~= C.COLLECTION_SUMMARY then
    take_back(key, collection, number)
  end
  fields[#fields + 1] = number
  if collection == C.COLLECTION_ATTEMPTS then
    fields[#fields + 1] = bytes
    return
  end
  local earlier = 0
  if name ~= '' then
    local before = newest[name] or call('HGET', key, '=' .. name)
    earlier = before and before + 1 or 0
    newest[name] = number
  end
  fields[#fields + 1] = struct.pack(HEAD, $packed_element) .. bytes
end

local function flush(key, fields, newest)
  for name, number in pairs(newest) do
    fields[#fields + 1], fields[#fields + 2] = '=' .. name, number
  end
  if #fields > 0 then
    call('HSET', key, unpack(fields))
  end
end

-- Elements that are packed one after the other, as a list of collection, number, name and bytes of
-- each; nil if they are damaged.
function ff.elements.unpack(packed)
  local at, all = 1, {}
  while at <= #packed do
    local whole, collection, number, name, bytes, next_at = pcall(struct.unpack, '>$ADDED', packed, at)
    if not whole or collection > C.COLLECTION_SUMMARY then
      return nil
    end
    all[#all + 1], all[#all + 2] = collection, string.format('%.0f', number)
    all[#all + 1], all[#all + 2] = name, bytes
    at = next_at
  end
  return all
end

-- Writes unpacked elements beside a record; those of a collection are in a row.
function ff.elements.write(record, all)
  local of, key, fields, newest = nil, nil, {}, {}
  for i = 1, #all, 4 do
    if all[i] ~= of then
      flush(key, fields, newest)
      of, key, fields, newest = all[i], ff.key.collection(record, all[i]), {}, {}
    end
    if of == C.COLLECTION_FRAMES then
      ff.frames.add(key, tonumber(all[i + 1]), all[i + 3])
    else
      add(key, of, all[i + 1], all[i + 2], all[i + 3], fields, newest)
    end
  end
  flush(key, fields, newest)
end

-- The newest element of a name that the record counts, with its number; false if there is none.
function ff.elements.named(record, r, collection, name)
  local key, count = ff.key.collection(record, collection), ff.elements.counted(r, collection)
  local number = call('HGET', key, '=' .. name)
  while number and tonumber(number) >= count do
    local earlier = struct.unpack(HEAD, call('HGET', key, number))
    number = earlier > 0 and string.format('%.0f', earlier - 1)
  end
  return number and {number, call('HGET', key, number)}
end

-- How much of a read an element takes: its bytes, its name aside. An attempt counts as the longest
-- message that it can have.
local function read_bytes(collection, bytes)
  if collection == C.COLLECTION_ATTEMPTS then
    return C.MESSAGE_BYTES
  end
  local whole, _, _, at = pcall(struct.unpack, HEAD, bytes)
  return whole and #bytes - at + 1 or #bytes
end

-- Elements in a row that the record counts, each behind its number: the first, and others up to
-- RANGE_BYTES. One at a time is read, because a page of the longest ones would be a gigabyte.
function ff.elements.range(record, r, collection, from, limit)
  local key, found, read = ff.key.collection(record, collection), {}, 0
  if collection == C.COLLECTION_FRAMES then
    return ff.elements.counted(r, collection) > 0 and ff.frames.range(key, from, limit) or {}
  end
  for number = from, math.min(ff.elements.counted(r, collection), from + limit) - 1 do
    local field = string.format('%.0f', number)
    local bytes = call('HGET', key, field)
    read = read + (bytes and read_bytes(collection, bytes) or 0)
    if not bytes or (#found > 0 and read > C.RANGE_BYTES) then
      break
    end
    found[#found + 1], found[#found + 2] = field, bytes
  end
  return found
end

-- The keys of all collections of a record.
function ff.elements.keys(record)
  local keys = {}
  for collection = C.COLLECTION_ATTEMPTS, C.COLLECTION_SUMMARY do
    keys[#keys + 1] = ff.key.collection(record, collection)
  end
  return keys
end

-- The collections, attempts aside, that have anything beside a record, whatever it counts.
function ff.elements.present(record)
  local keys, found = ff.elements.keys(record), {}
  if call('EXISTS', unpack(keys, 2)) > 0 then
    for i = 2, #keys do
      if call('EXISTS', keys[i]) == 1 then
        found[#found + 1] = C.COLLECTION_ATTEMPTS + i - 1
      end
    end
  end
  return found
end

-- Removes what a record does not count. Answers how many elements that were.
local function clear(record, r, collection)
  local key, count, extra = ff.key.collection(record, collection), ff.elements.counted(r, collection), 0
  if collection == C.COLLECTION_FRAMES then
    extra = count == 0 and call('XLEN', key) or 0
    if extra > 0 then
      call('UNLINK', key)
    end
    return extra
  end
  while take_back(key, collection, string.format('%.0f', count)) == 1 do
    extra, count = extra + 1, count + 1
  end
  return extra
end

function ff.elements.clear(record, r)
  local extra = r.attempts > 0 and clear(record, r, C.COLLECTION_ATTEMPTS) or 0
  for _, collection in ipairs(ff.elements.present(record)) do
    extra = extra + clear(record, r, collection)
  end
  return extra
end
