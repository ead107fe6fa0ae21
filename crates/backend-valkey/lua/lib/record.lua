-- The record of an execution as bytes and as a table. build/format.rs lists its fields, for this and
-- for the codec in Rust. Times are milliseconds, 0 where there is none.

-- CHANGED is a record whose tail stays as it is.
ff.record = {
  HEAD = '>$HEAD',
  TAIL = '>$TAIL',
  CHANGED = '>$HEAD' .. 'c0',
  WHOLE = '>$HEAD$TAIL' .. 'c0',
}

-- The record in bytes; nil when it is damaged, or another release wrote it in another format.
function ff.record.unpack(bytes)
  if string.byte(bytes) ~= C.FORMAT then
    return nil
  end
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole then
    return nil
  end
  local tail_whole, $tail, rest_at = pcall(struct.unpack, ff.record.TAIL, bytes, tail_at)
  if not tail_whole then
    return nil
  end
  -- One constructor makes the table in its full size.
  return {$table, rest = string.sub(bytes, rest_at)}
end

function ff.record.pack(r)
  return struct.pack(ff.record.WHOLE, $r_head, $r_tail, r.rest)
end

-- The record of id; nil when there is none, false when it cannot be read.
function ff.record.get(k, id)
  local bytes = call('GET', ff.key.record(k, id))
  if not bytes then
    return nil
  end
  return ff.record.unpack(bytes) or false
end

-- A time this long after another, at most the last one there is.
function ff.after(time, span)
  local sum = time + span
  return sum < C.TIME_MAX and sum or C.TIME_MAX
end

-- When an execution that ended then is removed: at a whole second, unless that is too coarse.
function ff.retired_at(ended, retention)
  local due = ended + retention
  if retention >= C.RETIRE_STEP then
    due = math.ceil(due / C.RETIRE_STEP) * C.RETIRE_STEP
  end
  return due < C.TIME_MAX and due or C.TIME_MAX
end

-- The earliest of times of which any may be 0; 0 when all are.
function ff.earliest(a, b, c)
  local least = a
  if b ~= 0 and (least == 0 or b < least) then
    least = b
  end
  if c and c ~= 0 and (least == 0 or c < least) then
    least = c
  end
  return least
end
