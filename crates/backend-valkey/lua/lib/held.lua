-- The bytes of a record that the caller's fence still holds; nil if it does not. A fence is the
-- epoch, the number of attempts and the lease, as they lie in the record.

function ff.held(k, id, fence)
  local bytes = call('GET', k.exec .. id)
  if bytes and string.byte(bytes) == C.FORMAT and string.byte(bytes, 2) == C.ACTIVE
    and string.sub(bytes, C.FENCE_FROM, C.FENCE_TO) == fence
  then
    return bytes
  end
  return nil
end
