-- Writes decisions on records and resources of one partition, each if all of them still have the
-- version that was decided on and the decision has not expired.
--
-- args: origin, then for each decision the time it was made with, the time until which it holds (0 for
--       any), how many changes it has, and its changes. One of a record has its id, the version decided
--       on (8 bytes, '' for none), its new bytes without payloads ('' to remove it), which payload comes
--       with it ('', 'in' or 'out'), the payload, and the elements to store next to it, packed. With
--       'append' in the place of a payload's name the record stays as it is, and in the place of the
--       payload are the number that the next frame has, and what is removed then, packed. With 'seen' there
--       it only has to have that version. One of a resource has its name, the version, its new bytes, 'guard' if it only has to have that version, '' and ''. A
--       continuation has its owner's id, '', its bytes, 'add' or 'remove', when it is due, and ''. What
--       is counted has its owner's id, '', the counters and what is added to each, packed, 'count', or
--       'raise' if a change of the same decision may create its owner, and time and bytes of the continuation that is added at zero, or '' and ''. An event has its
--       execution's id, '', its bytes, 'event', its namespace and ''.
-- reply: for each decision {1, then for each change the score of the head it became or '', of what is
--       counted 1 if that added its continuation, else 0}, {0} if something has changed, {2} if the
--       decision is too old, or the error that it raised.

-- The record that a change was decided on and the one it makes, each false where there is none, and
-- the elements that it adds; nil if something has changed.
local function examined(k, id, before, new, packed)
  local bytes, after = call('GET', ff.key.record(k, id)), new ~= '' and ff.record.unpack(new)
  local elements = ff.elements.unpack(packed)
  if after == nil or not elements then
    return nil
  end
  if bytes then
    local was = string.sub(bytes, C.VERSION_FROM, C.VERSION_TO) == before and ff.record.unpack(bytes)
    return was and {was, after, elements}
  end
  local is_new = before == '' and after
  return is_new and (after.key == '' or not ff.save.owner(k, after.ns, after.key))
    and {false, after, elements}
end

-- Frames to append to their owner's stream, and what is removed of it; nil if something has changed.
local function appended(k, id, seen, how, packed)
  local record, elements = ff.key.record(k, id), ff.elements.unpack(packed)
  local bytes, whole, $append = call('GET', record), pcall(struct.unpack, '>$APPEND', how)
  local key = ff.key.collection(record, C.COLLECTION_FRAMES)
  if bytes and string.sub(bytes, C.VERSION_FROM, C.VERSION_TO) == seen
    and elements and whole and ff.frames.next(key) == following
  then
    return {false, false, elements, key, below, before}
  end
end

-- A record that only has to have a version; nil if it has another.
local function unchanged(k, id, seen)
  local bytes = call('GET', ff.key.record(k, id))
  return bytes and string.sub(bytes, C.VERSION_FROM, C.VERSION_TO) == seen and {} or nil
end

-- A payload is stored in the record when it is short, else under a separate key.
local function place(payload)
  if #payload <= C.INLINE then
    return C.PLACE_HERE, payload
  end
  return C.PLACE_OWN_KEY, ''
end

local function create(k, now, origin, id, r, payload, elements, counted)
  r.input_place, r.input = place(payload)
  local own_input = r.input_place == C.PLACE_OWN_KEY and payload
  ff.save.create(k, id, ff.record.pack(r), r.ns, r.created, r.key, own_input, elements, nil, counted)
  return ff.save.enter(k, id, r, now, origin)
end

local function update(k, now, origin, id, was, r, part, payload, elements)
  local record = ff.key.record(k, id)
  ff.elements.write(record, elements)
  r.input_place, r.input = was.input_place, was.input
  r.result_place, r.result = was.result_place, was.result
  if r.run ~= was.run then
    if was.result_place == C.PLACE_HERE then
      call('SET', ff.key.result(record, was.run), was.result)
    end
    r.result_place, r.result = C.PLACE_NONE, ''
  end
  if part == 'out' then
    r.result_place, r.result = place(payload)
    if r.result_place == C.PLACE_OWN_KEY then
      call('SET', ff.key.result(record, r.run), payload)
    end
  end
  return ff.save.update(k, id, was, r, now, origin)
end

local function remove(k, id, was)
  if was.state ~= C.STATE_FINISHED then
    for _, index in ipairs(ff.placement) do
      if not index.leads and index.entry(was, id) then
        ff.leave(index, k, id, was)
      end
    end
  end
  ff.save.remove(k, id, was.ns, was.attention, was.key, was.run)
  ff.save.close(k, was.ns, was.lane, was.class)
end

-- How many arguments a decision has before its changes, and how many each of them has.
local BEFORE, EACH = 3, 6

-- Whether the change at a place is of a resource: its name begins with its kind, and an id has no colon.
local function is_resource(args, at)
  return string.find(args[at], '^[%l_]+:')
end

-- Events, changes of continuations and counters, and records that do not change.
local LATER = {
  event = {
    examined = function(_, args, at)
      return {args[at + 4], args[at + 2]}
    end,
    write = function(k, event, _, _, logs)
      ff.events.add(k, logs, event[1], event[2])
    end,
  },
  seen = {
    examined = function(k, args, at)
      return unchanged(k, args[at], args[at + 1])
    end,
    write = function() end,
  },
  add = {
    examined = function(_, args, at)
      return ff.continuations.added(args[at + 2], args[at + 4])
    end,
    write = function(k, added, _, now)
      ff.continuations.add(k, added, now)
    end,
  },
  remove = {
    examined = function(k, args, at)
      return ff.continuations.removed(k, args[at + 2])
    end,
    write = function(k, removed)
      ff.continuations.remove(k, removed)
    end,
  },
  count = {
    examined = function(k, args, at)
      return ff.continuations.counted(k, args[at], args[at + 2], args[at + 4], args[at + 5])
    end,
    write = function(k, counted, id, now)
      return ff.continuations.count(k, id, counted, now)
    end,
  },
  raise = {
    examined = function(k, args, at)
      return ff.continuations.counted(k, args[at], args[at + 2], args[at + 4], args[at + 5])
    end,
    -- The counters of an owner that the decision creates are written beside its record.
    write = function(k, counted, id, now, _, raised)
      if call('EXISTS', ff.key.record(k, id)) == 0 then
        raised[id] = counted
        return 0
      end
      return ff.continuations.count(k, id, counted, now)
    end,
  },
}

-- One decision, whose arguments begin at a place. Adds the executions that it ends to ended, and those
-- that have new frames to framed.
local function decision(k, now, args, from, count, ended, framed, logs)
  local origin, decided, holds = args[1], tonumber(args[from]), tonumber(args[from + 1])
  if now - decided > C.MAX_AGE or (holds ~= 0 and holds <= now) then
    return {2}
  end
  local changes = {}
  for i = 1, count do
    local at, change = from + BEFORE + (i - 1) * EACH, nil
    local later = LATER[args[at + 3]]
    if later then
      change = later.examined(k, args, at)
    elseif is_resource(args, at) then
      change = ff.resource.examined(k, args[at], args[at + 1], args[at + 2])
    elseif args[at + 3] == 'append' then
      change = appended(k, args[at], args[at + 1], args[at + 4], args[at + 5])
    else
      change = examined(k, args[at], args[at + 1], args[at + 2], args[at + 5])
    end
    if not change then
      return {0}
    end
    changes[i] = change
  end
  local reply, raised = {1}, {}
  for i, change in ipairs(changes) do
    local at, was, after = from + BEFORE + (i - 1) * EACH, change[1], change[2]
    local id, head, later = args[at], nil, LATER[args[at + 3]]
    if later then
      head = later.write(k, change, id, now, logs, raised)
    elseif is_resource(args, at) then
      if args[at + 3] ~= 'guard' then
        ff.resource.put(k, id, change, args[at + 2], now)
        if string.find(id, '^feed:') then
          ff.events.forget(logs)
        end
      end
    elseif args[at + 3] == 'append' then
      ff.elements.write(ff.key.record(k, id), change[3])
      ff.frames.trim(change[4], change[5], change[6])
      framed[#framed + 1] = id
    elseif not after then
      remove(k, id, was)
      ended[#ended + 1] = id
    elseif was then
      head = update(k, now, origin, id, was, after, args[at + 3], args[at + 4], change[3])
      if change[3][1] == C.COLLECTION_FRAMES then
        framed[#framed + 1] = id
      end
      if after.state == C.STATE_FINISHED and was.state ~= C.STATE_FINISHED then
        ended[#ended + 1] = id
      end
    else
      head = create(k, now, origin, id, after, args[at + 4], change[3], raised[id])
    end
    reply[i + 1] = head or ''
  end
  return reply
end

-- Where the decision after the one at a place begins; nil if that is not whole.
local function following(args, at)
  local decided, holds, count = tonumber(args[at]), tonumber(args[at + 1]), tonumber(args[at + 2])
  return decided and holds and count and count > 0 and at + BEFORE + count * EACH or nil
end

ff.commit = function(keys, args)
  if #args < 2 or not whole(args, 2, following) then
    return redis.error_reply('FF_ARITY commit was given other than whole decisions')
  end
  local k, now, replies, ended, framed, logs, at = ff.keys(keys[1]), now(), {}, {}, {}, {}, 2
  while at <= #args do
    local count = tonumber(args[at + 2])
    replies[#replies + 1] = apart(decision, k, now, args, at, count, ended, framed, logs)
    at = following(args, at)
  end
  ff.save.ended(k, ended)
  ff.frames.tell(k, args[1], framed)
  return replies
end
