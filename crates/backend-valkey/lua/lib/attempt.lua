-- The newest attempt of a record, as bytes. What ends it comes first.

local START = '>I6BI4I4I6c18I1c0I1c0I2c0'

ff.attempt = {}

-- A new attempt, begun now.
function ff.attempt.start(number, run, now, lease, worker, instance)
  return struct.pack(START, 0, 0, number, run, now, lease,
    #worker, worker, #instance, instance, 0, '')
end

-- The same attempt under its newest lease; nil if it cannot be read.
function ff.attempt.continue(attempt, lease, worker, instance)
  local whole, ended, reason, number, run, started, _, _, _, progress, rest =
    pcall(struct.unpack, START, attempt)
  if not whole then
    return nil
  end
  return struct.pack(START, ended, reason, number, run, started, lease,
    #worker, worker, #instance, instance, #progress, progress) .. string.sub(attempt, rest)
end

-- The attempt, completed now.
function ff.attempt.complete(attempt, now)
  return struct.pack('>I6Bc0', now, C.COMPLETED, string.sub(attempt, 8))
end
