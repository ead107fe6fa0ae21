-- Every index of a partition, in the order of their names, so that who stops at one finds where to
-- go on even when others have come or gone.

local function itself(member)
  return member
end

-- An ordered set whose members are ids.
local function ordered(name, key, owns, id)
  return {name = name, key = key, kind = 'ordered', remove = 'ZREM', id = id or itself, owns = owns}
end

-- Lists come first: they lead to every record that is whole.
local function by_namespace(k, all)
  local namespaces = call('SMEMBERS', k.namespaces)
  table.sort(namespaces)
  for _, ns in ipairs(namespaces) do
    local list = ordered('1' .. ns, ff.list_key(k, ns), function(r)
      return r.ns == ns
    end)
    list.lists = true
    all[#all + 1] = list
  end
  for _, ns in ipairs(namespaces) do
    all[#all + 1] = ordered('2' .. ns, ff.save.attention_key(k, ns), function(r)
      return r.ns == ns and r.attention ~= 0
    end)
  end
  for _, ns in ipairs(namespaces) do
    local key = ff.save.keys_key(k, ns)
    all[#all + 1] = {name = '3' .. ns, key = key, kind = 'hashed', remove = 'HDEL',
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
end

local function of_partition(k, all)
  all[#all + 1] = ordered('4', k.timer, function(r)
    return r.timer ~= 0
  end)
  all[#all + 1] = ordered('5', k.requests, function(r, id, member)
    return r.holder ~= '' and ff.save.request(r.holder, id) == member
  end, function(member)
    return string.sub(member, 17)
  end)
end

local function by_blocker(k, all)
  local names = call('ZRANGE', k.blockers, 0, -1)
  for _, name in ipairs(names) do
    local waiting = ordered('55' .. name, ff.blocked.key(k, name), function(r)
      return ff.blocked.name(r) == name
    end)
    waiting.close = function()
      ff.blocked.close(k, name)
    end
    all[#all + 1] = waiting
  end
end

-- The classes of lanes come before the queues, of which the last may be all that names a lane.
local function by_queue(k, all)
  local queues, lane_before = call('SMEMBERS', k.queues), nil
  table.sort(queues)
  for _, name in ipairs(queues) do
    local ns, lane = ff.queue.parts(name)
    local both = ff.queue.name(ns, lane, '')
    if both ~= lane_before then
      lane_before = both
      all[#all + 1] =
        {name = '6' .. both, key = ff.queue.classes_key(k, ns, lane), kind = 'classes', lane = both}
    end
  end
  for _, name in ipairs(queues) do
    local queue = ordered('7' .. name, ff.queue_key(k, name), function(r)
      return r.score ~= C.NO_SCORE and ff.queue.name(r.ns, r.lane, r.class) == name
    end)
    queue.close = function()
      ff.queue.forget(k, name)
    end
    all[#all + 1] = queue
  end
end

-- Each is {name, key, kind}. Resources have indexes of their own. An ordered set or hash has id and owns, which tell whose an entry is
-- and whether that record has it, and the command to remove it with; lists is set for the list that
-- a record is in for as long as it is there. close forgets what holds nothing any more.
ff.indexes = function(k)
  local all = {}
  by_namespace(k, all)
  of_partition(k, all)
  by_blocker(k, all)
  by_queue(k, all)
  all[#all + 1] = {name = '8', key = k.resources, kind = 'resources'}
  all[#all + 1] = {name = '9', key = k.resource_timers, kind = 'resources'}
  return all
end
