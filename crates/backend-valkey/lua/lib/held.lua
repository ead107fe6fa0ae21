-- What a caller says it holds. An argument costs about as much as reading a record, so what is
-- short travels packed.

-- Id, namespace, fence, salt and where the rest begins; nil if they are not there.
function ff.hold(packed)
  local whole, id, ns, fence, salt, at = pcall(struct.unpack, '>c22I1c0c29c4', packed)
  if whole then
    return id, ns, fence, salt, at
  end
end

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
