-- The indexes of a partition, by name: a letter, and what they are of.
--   l namespace    every execution           a namespace    those that need attention
--   k namespace    idempotency keys          t              timers
--   h              what claims hold          b blocker      those that wait for a budget or a quota
--   c lane         the classes of a lane     q queue        those that can be claimed
--   r              resources                 d              their timers

local function itself(member)
  return member
end

-- An ordered set whose members are ids.
local function ordered(key, owns, id)
  return {key = key, kind = 'ordered', remove = 'ZREM', id = id or itself, owns = owns}
end

local make = {}

function make.l(k, ns)
  local list = ordered(ff.list_key(k, ns), function(r)
    return r.ns == ns
  end)
  list.lists = true
  return list
end

function make.a(k, ns)
  return ordered(ff.save.attention_key(k, ns), function(r)
    return r.ns == ns and r.attention ~= 0
  end)
end

function make.k(k, ns)
  local key = ff.save.keys_key(k, ns)
  return {key = key, kind = 'hashed', remove = 'HDEL',
    id = function(_, id)
      return id
    end,
    owns = function(r, _, member)
      return r.ns == ns and r.key == member
    end,
    close = function()
      if call('EXISTS', key, ff.list_key(k, ns), ff.save.attention_key(k, ns)) == 0 then
        call('SREM', k.namespaces, ns)
      end
    end}
end

function make.t(k)
  return ordered(k.timer, function(r)
    return r.timer ~= 0
  end)
end

function make.h(k)
  return ordered(k.requests, function(r, id, member)
    return r.holder ~= '' and ff.save.request(r.holder, id) == member
  end, function(member)
    return string.sub(member, 17)
  end)
end

function make.b(k, name)
  local waiting = ordered(ff.blocked.key(k, name), function(r)
    return ff.blocked.name(r) == name
  end)
  waiting.close = function()
    ff.blocked.close(k, name)
  end
  return waiting
end

function make.c(k, lane)
  local ns, name = ff.queue.parts(lane)
  return {key = ff.queue.classes_key(k, ns, name), kind = 'classes'}
end

function make.q(k, name)
  local queue = ordered(ff.queue_key(k, name), function(r)
    return r.score ~= C.NO_SCORE and ff.queue.name(r.ns, r.lane, r.class) == name
  end)
  queue.close = function()
    ff.queue.forget(k, name)
  end
  return queue
end

function make.r(k)
  return {key = k.resources, kind = 'resources'}
end

function make.d(k)
  return {key = k.resource_timers, kind = 'resources'}
end

-- The index of a name: {letter, of, key, kind}. An ordered set or hash has id and owns, which tell
-- whose an entry is and whether that record has it, and the command to remove it with; lists is set
-- for the list that a record is in for as long as it is there. close forgets what holds nothing any
-- more. There is always one: a letter that is none leads to timers.
ff.index = function(k, name)
  local letter = make[string.sub(name, 1, 1)] and string.sub(name, 1, 1) or 't'
  local of = string.sub(name, 2)
  local index = make[letter](k, of)
  index.letter, index.of = letter, of
  return index
end
