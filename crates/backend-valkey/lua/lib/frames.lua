-- The stream of an execution: the entry after a number has its frame, so that a repeated append finds
-- what is there. Frames are added one by one and in order, and trimmed afterwards: a fault between
-- leaves a shorter append, or more than the bound, and either is a stream like any other.

ff.frames = {}

local FRAME = '>$FRAME'

-- No entry has the number 0.
local function entry(number)
  return string.format('%.0f-0', number + 1)
end

-- The number and the bytes of an entry; nil if there is none.
local function frame(found)
  if found then
    return tonumber(string.match(found[1], '^%d+')) - 1, found[2][2]
  end
end

function ff.frames.first(key)
  return frame(call('XRANGE', key, '-', '+', 'COUNT', 1)[1])
end

function ff.frames.last(key)
  return frame(call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1])
end

-- The number that the next frame gets.
function ff.frames.next(key)
  local last = ff.frames.last(key)
  return last and last + 1 or 0
end

-- Adds a frame. What is there at or after its number was written by a command that did not finish.
function ff.frames.add(key, number, bytes)
  local last = ff.frames.last(key)
  if last and last >= number then
    call('DEL', key)
  end
  call('XADD', key, entry(number), 'f', bytes)
end

-- How many bytes came before a frame.
local function offset(key, number)
  local _, bytes = frame(call('XRANGE', key, entry(number), entry(number), 'COUNT', 1)[1])
  local $frame = struct.unpack(FRAME, bytes)
  return offset
end

-- Removes frames below a number, and those that begin before an offset. The newest one stays.
function ff.frames.trim(key, below, before)
  local first, last = ff.frames.first(key), ff.frames.last(key)
  if not first then
    return
  end
  local from, high = math.min(math.max(first, below), last), last
  if before > 0 and offset(key, from) < before then
    while from < high do
      local middle = math.floor((from + high) / 2)
      if offset(key, middle) < before then
        from = middle + 1
      else
        high = middle
      end
    end
  end
  if from > first then
    call('XTRIM', key, 'MINID', entry(from))
  end
end

-- Frames from a number on, each behind its number: the first, and others up to RANGE_BYTES.
function ff.frames.range(key, from, limit)
  local found, read = {}, 0
  if from > C.LAST_FRAME then
    return found
  end
  while limit > 0 do
    local count = math.min(limit, C.FRAMES_PAGE)
    local page = call('XRANGE', key, entry(from), '+', 'COUNT', count)
    for _, one in ipairs(page) do
      local number, bytes = frame(one)
      read = read + #bytes
      if found[1] and read > C.RANGE_BYTES then
        return found
      end
      found[#found + 1], found[#found + 2] = string.format('%.0f', number), bytes
      from = number + 1
    end
    limit = #page == count and limit - count or 0
  end
  return found
end

-- The two ends of a stream, of each its number, what it begins with, and how long it is.
function ff.frames.ends(key)
  local ends = {}
  for _, read in ipairs({ff.frames.first, ff.frames.last}) do
    local number, bytes = read(key)
    if number then
      ends[#ends + 1] = string.format('%.0f', number)
      ends[#ends + 1], ends[#ends + 2] = string.sub(bytes, 1, C.FRAME_HEAD), #bytes
    end
  end
  return ends
end

-- A page of a stream from a place on, for an audit: the place after it, then number and length of each.
function ff.frames.page(key, place)
  local from = place == '0' and '-' or '(' .. place
  local page = call('XRANGE', key, from, '+', 'COUNT', C.ELEMENTS)
  local reply = {#page == C.ELEMENTS and page[#page][1] or '0'}
  for _, one in ipairs(page) do
    local number, bytes = frame(one)
    reply[#reply + 1], reply[#reply + 2] = string.format('%.0f', number), #bytes
  end
  return reply
end

-- Appends frames that were sent, from a number on, to a stream that has some. Answers the number that
-- comes next; nil, with nothing written, if the caller has to be refused or something is damaged.
function ff.frames.append(key, sent_attempt, first, sent)
  local last, newest = ff.frames.last(key)
  local whole, $frame, from
  if last then
    whole, $frame, from = pcall(struct.unpack, FRAME, newest)
  end
  local frames, at, skip = {}, 1, 0
  if not whole or (first and first > last + 1) then
    return nil
  end
  skip = first and last + 1 - first or 0
  offset, attempt = offset + #newest - from + 1, sent_attempt
  while at <= #sent do
    local readable, kind_sent, bytes, following = pcall(struct.unpack, '>$SENT', sent, at)
    if not readable then
      return nil
    end
    if skip > 0 then
      skip = skip - 1
    else
      kind = kind_sent
      frames[#frames + 1] = struct.pack(FRAME, $packed_frame) .. bytes
      offset = offset + #bytes
    end
    at = following
  end
  for i, bytes in ipairs(frames) do
    call('XADD', key, entry(last + i), 'f', bytes)
  end
  local next_number = last + #frames + 1
  if frames[1] then
    local before = math.max(offset - keep_bytes, 0)
    ff.frames.trim(key, math.max(next_number - keep_frames, 0), before)
  end
  return next_number, frames[1] ~= nil
end

-- Announces that executions have new frames, all at once, to other processes than the origin.
function ff.frames.tell(k, origin, ids)
  if ids[1] then
    call('SPUBLISH', k.ended, '+' .. origin .. table.concat(ids))
  end
end
