-- The newest attempt of a record, as bytes. What ends it comes first.

local START = '>I6BI4I4I6c18I1c0I1c0I2c0'

ff.attempt = {}

-- A new attempt of r, begun now.
function ff.attempt.start(r, now, worker, instance)
  return struct.pack(START, 0, 0, r.attempts - 1, r.run, now, r.holder,
    #worker, worker, #instance, instance, 0, '')
end

-- The same attempt under the newest lease of r.
function ff.attempt.continue(r, worker, instance)
  local ended, reason, number, run, started, _, _, _, progress, rest =
    struct.unpack(START, r.attempt)
  return struct.pack(START, ended, reason, number, run, started, r.holder,
    #worker, worker, #instance, instance, #progress, progress) .. string.sub(r.attempt, rest)
end

-- The attempt, completed now.
function ff.attempt.complete(attempt, now)
  return struct.pack('>I6B', now, C.COMPLETED) .. string.sub(attempt, 8)
end
