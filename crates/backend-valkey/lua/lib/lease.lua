-- Leases: what a holder sends, and what a claim writes.

ff.lease = {}

-- The hold that a caller claims: id, namespace, fence, the salt of the version to write, and where the
-- rest of its argument begins; nil if they are missing. An argument costs about as much as reading a
-- record, so short values are sent packed.
function ff.lease.shown(packed)
  local whole, $hold, at = pcall(struct.unpack, '>$HOLD', packed)
  if whole then
    return $hold, at
  end
end

-- The bytes of a record that the caller's fence still holds; nil if it does not. A fence is the
-- epoch, the number of attempts and the lease, in the layout of the record.
function ff.lease.held(k, id, fence)
  local bytes = call('GET', ff.key.record(k, id))
  if bytes and string.byte(bytes) == C.FORMAT and string.byte(bytes, C.STATE_AT) == C.STATE_ACTIVE
    and string.sub(bytes, C.FENCE_FROM, C.FENCE_TO) == fence
  then
    return bytes
  end
  return nil
end

-- Leases a queued execution to a worker: writes its record, and adds its timer to armed and the entry of
-- its claim to held. logs is that of the call. by has the request, worker, instance and salt of the claim; place is which of its
-- leases this is, and name the admission under which limits admitted the execution, if they did. Answers
-- the new record; nil, with nothing written, if the record is damaged.
function ff.lease.take(k, logs, armed, held, id, bytes, now, by, place, name)
  local whole, $head, tail_at = pcall(struct.unpack, ff.record.HEAD, bytes)
  if not whole then
    return nil
  end
  local record, was = ff.key.record(k, id), timer
  -- The lease is named after the request, its place, and which lease of the execution it is.
  local lease = struct.pack('>$LEASE', by.request, epoch % C.TURNS * C.PLACES + place)
  if why > C.LAST_START then
    attempt = ff.attempt.continue(attempt, lease, by.worker, by.instance)
    if not attempt then
      return nil
    end
  else
    if attempts > 0 then
      call('HSET', ff.key.collection(record, C.COLLECTION_ATTEMPTS), attempts - 1, attempt)
    end
    attempt = ff.attempt.start(attempts, run, now, lease, by.worker, by.instance)
    attempts = attempts + 1
  end
  admission = name or ''
  limits = bit.band(limits, C.LIMITS_NAMED + C.LIMITS_MEMBER) + (name and C.LIMITS_ADMITTED or 0)
  holder, epoch, state, why, score, detail = lease, epoch + 1, C.STATE_ACTIVE, 0, C.NO_SCORE, ''
  until_at = ff.after(now, lease_ttl)
  timeout_at = attempt_timeout ~= 0 and ff.after(now, attempt_timeout) or 0
  timer = ff.earliest(until_at, timeout_at, deadline)
  counter, salt = counter + 1, by.salt
  local changed = struct.pack(ff.record.CHANGED, $packed_head, string.sub(bytes, tail_at))
  ff.events.happened(k, logs, ns, C.EVENT_CLAIMED, attempts - 1, now, id, counter, salt, run, attempts,
    bytes, tail_at)
  call('SET', record, changed)
  if timer ~= was then
    armed[#armed + 1], armed[#armed + 2] = timer, id
  end
  held[#held + 1], held[#held + 2] = 0, ff.name.request(lease, id)
  return changed
end
