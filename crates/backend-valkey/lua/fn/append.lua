-- Appends frames to streams of one partition for the holders of their executions, each independently.
--
-- args: the caller's origin, then for each its id, namespace, fence, salt, whether its frames go to the
--       end and else the number of the first, packed; then type and bytes of each frame, packed.
-- reply: for each {the number that comes next}, or {} if the caller does not plainly hold it, a frame is
--       missing, or it is the first of its execution, which the slow path decides; then nothing is written.

-- Answers the reply, and the id if it has new frames.
local function append(k, now, packed, sent)
  local id, namespace, fence, _, at = ff.lease.shown(packed)
  local bytes = id and ff.lease.held(k, id, fence)
  if not bytes then
    return {}
  end
  local readable, $appending = pcall(struct.unpack, '>$APPENDING', packed, at)
  local whole, $head = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not readable or not whole or ns ~= namespace or timer <= now then
    return {}
  end
  local counted = ff.elements.counted({attempts = attempts, counts = counts}, C.COLLECTION_FRAMES)
  if counted == 0 then
    return {}
  end
  local key = ff.key.collection(ff.key.record(k, id), C.COLLECTION_FRAMES)
  local next_number, is_new = ff.frames.append(key, attempts - 1, at_end == 0 and first or nil, sent)
  return {next_number}, is_new and id or nil
end

register('append', function(keys, args, time)
  local k, now, replies, told = ff.keys(keys[1]), time or now(), {}, {}
  for i = 2, #args, 2 do
    replies[#replies + 1], told[#told + 1] = apart(append, k, now, args[i], args[i + 1])
  end
  ff.frames.tell(k, args[1], told)
  return replies
end, {}, 1, 2)
