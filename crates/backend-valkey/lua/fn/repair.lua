-- Repairs what a fault in the middle of a function has left in one partition, a page at a time,
-- found from its indexes alone. What is removed or restored follows from a record that was read in
-- the same call, or from its absence; a record that cannot be read counts as neither.
--
-- args: place in the first index to continue from ('0' for the start), how many entries at most, then
--       the names of one or more indexes (see lib/placement).
-- reply: {how many of the indexes were read to their end, place in the next one, how many
--       entries were examined, how many of them had no record, how much was missing, and how much did
--       not belong to its record}.

local REMOVE = {ordered = 'ZREM', hashed = 'HDEL'}

-- The record of id; nil when there is none, false when it cannot be read or is of another type.
local function record(k, id)
  local read, r = pcall(ff.record.get, k, id)
  return read and r
end

local function place(k, id, r, found)
  local missing, extra = ff.place(k, id, r)
  found.unplaced, found.leftover = found.unplaced + missing, found.leftover + extra
end

-- What has to be done for a record that another index than its list leads to. One that is listed was
-- examined before; one that is not was being removed, if its retention is over.
local function rescue(k, id, r, found)
  local unknown = call('SADD', k.namespaces, r.ns)
  if unknown == 0 and call('ZSCORE', ff.key.list(k, r.ns), id) then
    return
  end
  found.unplaced = found.unplaced + unknown
  if r.state == C.STATE_FINISHED and ff.retired_at(r.until_at, r.retention) <= found.now then
    ff.save.remove(k, id, r.ns, r.attention, r.key, r.run)
    ff.save.close(k, r.ns, r.lane, r.class)
    found.unplaced = found.unplaced + 1
  else
    place(k, id, r, found)
  end
end

local function fixed(found)
  return found.unwritten + found.unplaced + found.leftover
end

-- Examines one entry. Answers whether it was sound.
local function examine(k, index, of, key, member, value, found)
  local before, id = fixed(found), index.id and index.id(member, value) or member
  local r = record(k, id)
  found.examined = found.examined + 1
  if r == nil then
    found.unwritten = found.unwritten + call(REMOVE[index.kind], key, member)
    call('UNLINK', ff.save.names(k, id, 0))
  elseif r then
    local visit = index.letter == 'l' and place or rescue
    visit(k, id, r, found)
    if not ff.owns(index, of, r, id, member) then
      found.leftover = found.leftover + call(REMOVE[index.kind], key, member)
    end
  end
  return fixed(found) == before
end

-- Examines a page of an index from a place on. Answers the next place, or nil at the end.
local read = {}

-- What was repaired may have moved, so that much is examined again.
local function page_of(key, offset, limit, examine_one)
  local page, well = call('ZRANGE', key, offset, offset + limit - 1), 0
  for _, member in ipairs(page) do
    if examine_one(member) then
      well = well + 1
    end
  end
  return #page == limit and string.format('%.0f', offset + well) or nil
end

function read.ordered(k, index, of, key, offset, limit, found)
  return page_of(key, offset, limit, function(member)
    return examine(k, index, of, key, member, nil, found)
  end)
end

function read.hashed(k, index, of, key, cursor, limit, found)
  local page = call('HSCAN', key, cursor, 'COUNT', limit)
  for i = 1, #page[2], 2 do
    examine(k, index, of, key, page[2][i], page[2][i + 1], found)
  end
  return page[1] ~= '0' and page[1] or nil
end

function read.classes(k, _, lane, key, cursor, limit, found)
  local page = call('HSCAN', key, cursor, 'COUNT', limit)
  for i = 1, #page[2], 2 do
    local class = page[2][i]
    found.examined = found.examined + 1
    if call('EXISTS', ff.key.queue(k, ff.name.queue_in(lane, class))) == 0 then
      found.leftover = found.leftover + call('HDEL', key, class)
    end
  end
  return page[1] ~= '0' and page[1] or nil
end

function read.resources(k, _, _, key, offset, limit, found)
  return page_of(key, offset, limit, function(name)
    local unwritten, missing, extra = ff.resource.place(k, name)
    found.examined, found.unwritten = found.examined + 1, found.unwritten + unwritten
    found.unplaced, found.leftover = found.unplaced + missing, found.leftover + extra
    return unwritten + missing + extra == 0
  end)
end

-- Nothing of a continuation follows from another key: what has no owner any more finds that out itself.
function read.continuations()
end

register('repair', function(keys, args)
  local k, place_in, limit, done = ff.keys(keys[1]), args[1], tonumber(args[2]), 0
  local found = {now = now(), examined = 0, unwritten = 0, unplaced = 0, leftover = 0}
  -- While a slot is being moved, keys that have not arrived seem absent. There the server refuses this.
  call('EXISTS', ff.key.absent(k))
  for i = 3, #args do
    local index, of, key = ff.index(k, args[i])
    place_in = read[index.kind](k, index, of, key, place_in, limit - found.examined, found)
    if place_in then
      break
    end
    if index.close then
      index.close(k, of)
    end
    done, place_in = i - 2, '0'
    if found.examined >= limit then
      break
    end
  end
  return {done, place_in, found.examined, found.unwritten, found.unplaced, found.leftover}
end, {'allow-oom'}, 2, 1, {2})
