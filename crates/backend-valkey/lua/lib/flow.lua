-- Flows: whether members of an execution run.

ff.flow = {}

-- What a record says of its flow and its members: the fields of a member, as a table; nil if it is damaged.
function ff.flow.unpack(packed)
  local whole, $member = pcall(struct.unpack, '>$MEMBER', packed)
  if whole then
    return {members = members, flow = flow, node = node, needs = needs, spare = spare,
      counted = counted, flags = flags}
  end
end

-- Whether the execution with this id lets its members be claimed and released.
function ff.flow.runs(k, id)
  local bytes = call('GET', ff.key.record(k, id))
  if not bytes or string.byte(bytes) ~= C.FORMAT then
    return false
  end
  local whole, $head = pcall(struct.unpack, ff.record.HEAD, bytes)
  return whole and string.byte(member) == C.MEMBERS_RUN
end

-- Whether the flow of a record, if it is a member of one, lets it be claimed.
function ff.flow.lets(k, bytes)
  if bit.band(string.byte(bytes, C.LIMITS_AT), C.LIMITS_MEMBER) == 0 then
    return true
  end
  local whole, $head = pcall(struct.unpack, ff.record.HEAD, bytes)
  local place = whole and ff.flow.unpack(member)
  return place and ff.flow.runs(k, place.flow)
end
