-- Everything one partition holds, a page at a time, found from its indexes alone.
--
-- args: section, offset in it ('0' and '0' for the start), how many entries at most.
-- reply: {next section or '' at the end, next offset, then rows}. A row is a letter and its fields:
--   x namespace created id record? input? {run, result, ...} {number, attempt, ...}
--   a namespace created id        k namespace key id         t due id       h request+id
--   q namespace lane requires? score id                      c namespace lane requires
--   b namespace:kind:name:class score id
--   r name resource?                                         d due name

local function results(exec, r)
  local found = {}
  if r then
    for run = 0, math.min(r.run, C.RUNS) do
      local bytes = run == r.run and r.result_at == C.HERE and r.result
        or call('GET', exec .. ':out:' .. run)
      if bytes then
        found[#found + 1] = run
        found[#found + 1] = bytes
      end
    end
  end
  return found
end

local function execution(k, ns, created, id)
  local exec = k.exec .. id
  local bytes = call('GET', exec)
  local r = bytes and ff.record.unpack(bytes)
  local input = r and r.input_at == C.HERE and r.input or call('GET', exec .. ':in')
  return {'x', ns, created, id, bytes, input, results(exec, r), call('HGETALL', exec .. ':att')}
end

-- A page of an ordered set from offset on. Answers the next offset, or nil at its end.
local function ordered(key, offset, limit, row, into)
  local page = call('ZRANGE', key, offset, offset + limit - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    into[#into + 1] = row(page[i + 1], page[i])
  end
  return #page == 2 * limit and offset + limit or nil
end

local function hashed(key, offset, limit, row, into)
  local page = call('HSCAN', key, offset, 'COUNT', limit)
  for i = 1, #page[2], 2 do
    into[#into + 1] = row(page[2][i], page[2][i + 1])
  end
  return page[1] ~= '0' and page[1] or nil
end

-- What the executions of a class require, of which its lane does not know; false if nobody knows.
local function required(k, id, class)
  local r = ff.record.get(k, id)
  return r and r.class == class and r.requires
end

-- What there is to read: {how, key, row}, records first.
local function sections(k)
  local plan, lanes = {}, {}
  local namespaces = call('SMEMBERS', k.namespaces)
  table.sort(namespaces)
  for _, ns in ipairs(namespaces) do
    plan[#plan + 1] = {ordered, ff.list_key(k, ns), function(created, id)
      return execution(k, ns, created, id)
    end}
  end
  for _, ns in ipairs(namespaces) do
    plan[#plan + 1] = {ordered, ff.save.attention_key(k, ns), function(created, id)
      return {'a', ns, created, id}
    end}
    plan[#plan + 1] = {hashed, ff.save.keys_key(k, ns), function(key, id)
      return {'k', ns, key, id}
    end}
  end
  plan[#plan + 1] = {ordered, k.timer, function(due, id)
    return {'t', due, id}
  end}
  plan[#plan + 1] = {ordered, k.requests, function(_, member)
    return {'h', member}
  end}
  local blockers = call('ZRANGE', k.blockers, 0, -1)
  for _, name in ipairs(blockers) do
    plan[#plan + 1] = {ordered, ff.blocked.key(k, name), function(score, id)
      return {'b', name, score, id}
    end}
  end
  plan[#plan + 1] = {ordered, k.resources, function(_, name)
    return {'r', name, call('GET', ff.resource.key(k, name))}
  end}
  plan[#plan + 1] = {ordered, k.resource_timers, function(due, name)
    return {'d', due, name}
  end}
  local queues = call('SMEMBERS', k.queues)
  table.sort(queues)
  for _, name in ipairs(queues) do
    local ns, lane, class = ff.queue.parts(name)
    local known = class == '' and '' or call('HGET', ff.queue.classes_key(k, ns, lane), class)
    plan[#plan + 1] = {ordered, ff.queue_key(k, name), function(score, id)
      return {'q', ns, lane, known or required(k, id, class), score, id}
    end}
    if not lanes[ns .. ':' .. lane] then
      lanes[ns .. ':' .. lane] = true
      plan[#plan + 1] = {hashed, ff.queue.classes_key(k, ns, lane), function(_, requires)
        return {'c', ns, lane, requires}
      end}
    end
  end
  return plan
end

register('dump', function(keys, args)
  local section, offset, limit = tonumber(args[1]), tonumber(args[2]), tonumber(args[3])
  local plan = sections(ff.keys(keys[1]))
  local reply = {'', 0}
  while plan[section + 1] do
    local how, key, row = unpack(plan[section + 1])
    local following = how(key, offset, limit, row, reply)
    if not following then
      section = section + 1
    end
    offset = following or 0
    if #reply - 2 >= limit and plan[section + 1] then
      reply[1], reply[2] = section, offset
      break
    end
  end
  return reply
end, {'no-writes'}, 3, nil, {1, 3})
