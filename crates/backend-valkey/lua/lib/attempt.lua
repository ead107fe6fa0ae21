-- The newest attempt of a record, as bytes. What ends it comes first; its failure follows its fields.

local ATTEMPT, ENDED = '>$ATTEMPT', '>$ENDING' .. 'c0'

ff.attempt = {}

-- A new attempt, begun now.
function ff.attempt.start(number, run, started, lease, worker, instance)
  local ended, reason, progress = 0, 0, ''
  return struct.pack(ATTEMPT, $packed_attempt)
end

-- The same attempt under its newest lease; nil if it cannot be read.
function ff.attempt.continue(bytes, new_lease, new_worker, new_instance)
  local whole, $attempt, rest = pcall(struct.unpack, ATTEMPT, bytes)
  if not whole then
    return nil
  end
  lease, worker, instance = new_lease, new_worker, new_instance
  return struct.pack(ATTEMPT, $packed_attempt) .. string.sub(bytes, rest)
end

-- The attempt, completed now.
function ff.attempt.complete(bytes, now)
  return struct.pack(ENDED, now, C.END_COMPLETED, string.sub(bytes, C.ATTEMPT_NUMBER_AT))
end
