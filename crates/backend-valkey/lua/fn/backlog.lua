-- How many executions wait, for what, and how many run, a slice at a time.
--
-- keys: routing keys. args: the routing key and the place in its partition to continue from ('' for the
--       start), about how many queues, budgets and quotas are counted.
-- reply: {the time, routing key and place to continue from ('' at the end), then rows}. A row is
--   w how-many                           workers
--   q routing-key name how-many score requirements    a queue; without a score it holds nothing
--   b routing-key name how-many lane     executions of one class that wait for NAMESPACE:KIND:NAME, and their
--                                        lane as NAMESPACE:LANE, '' if none of their records can be read
--   a routing-key name how-many          running executions of the lane NAMESPACE:LANE

local row = {}

-- The lane of a record, NAMESPACE:LANE; nil if the record is not there or cannot be read.
local function lane_of(bytes)
  local r = bytes and ff.record.unpack(bytes)
  return r and ff.name.queue(r.ns, r.lane, '') or nil
end

function row.q(k, route, name)
  local key, ns, lane, class = ff.key.any_queue(k, name)
  local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if not head then
    return {'q', route, name, 0, '', ''}
  end
  local requires = class ~= '' and call('HGET', ff.key.classes(k, ns, lane), class)
  return {'q', route, name, call('ZCARD', key), head, requires or ''}
end

-- The executions that wait for one limit, class by class. All of a class are of one lane.
function row.b(k, route, name)
  local key, lane = ff.key.blocked(k, name), nil
  for _, id in ipairs(call('ZRANGE', key, 0, C.BACKLOG_LOOKAHEAD - 1)) do
    lane = lane or lane_of(call('GET', ff.key.record(k, id)))
  end
  return {'b', route, ff.name.limit(name), call('ZCARD', key), lane or ''}
end

-- The lane of an execution that a claim or a grant holds; nil if no worker runs it.
local function running(k, name)
  local bytes = call('GET', ff.key.record(k, ff.name.requested(name)))
  local active = bytes and string.byte(bytes, C.STATE_AT) == C.STATE_ACTIVE
  return active and lane_of(bytes) or nil
end

-- Adds a row for each lane that has running executions.
local function add_running(k, route, found, reply)
  local lanes = {}
  for _, name in ipairs(found) do
    local lane = running(k, name)
    if lane then
      lanes[lane] = (lanes[lane] or 0) + 1
    end
  end
  for lane, count in pairs(lanes) do
    reply[#reply + 1] = {'a', route, lane, count}
  end
end

-- Queues after a place, CURSOR or 0:HOW-MANY, and the next place. A small set is returned whole, in a
-- stable order while it does not change, however few are requested.
local function queues(k, place, count)
  local cursor, passed = string.match(place, '^(%d+):?(%d*)$')
  local page = call('SSCAN', k.queues, cursor, 'COUNT', count)
  local names, following = page[2], page[1]
  passed = tonumber(passed) or 0
  if cursor ~= '0' or following ~= '0' or #names <= count then
    return names, following
  end
  local found, last = {}, math.min(passed + count, #names)
  for i = passed + 1, last do
    found[#found + 1] = names[i]
  end
  return found, last < #names and '0:' .. string.format('%d', last) or '0'
end

-- The names after a place, and the next place, '0' at the end.
local function names(k, kind, cursor, count)
  if kind == 'q' then
    return queues(k, cursor, count)
  end
  local from = cursor == '0' and '-' or '(' .. cursor
  local of = kind == 'a' and k.requests or k.blockers
  local page = call('ZRANGEBYLEX', of, from, '+', 'LIMIT', 0, count)
  return page, #page == count and page[count] or '0'
end

-- The order of the places: queues come first, then budgets and quotas, then what is held.
local FOLLOWING = {q = 'b', b = 'a', a = ''}

local function next_place(kind, cursor)
  if cursor ~= '0' then
    return kind, cursor
  end
  return FOLLOWING[kind] or '', '0'
end

-- The number of the partition to continue from; the first one if it is not served here.
local function start(keys, from)
  for i, route in ipairs(keys) do
    if route == from then
      return i, true
    end
  end
  return 1, false
end

register('backlog', function(keys, args)
  local limit, reply, held = tonumber(args[3]), {now(), '', ''}, 0
  local first, resumes = start(keys, args[1])
  for i = first, #keys do
    local route = keys[i]
    local k, kind, cursor = ff.keys(route), 'q', '0'
    if i == first and resumes and args[2] ~= '' then
      kind, cursor = string.sub(args[2], 1, 1), string.sub(args[2], 2)
    elseif #reply - 3 >= limit then
      reply[2] = route
      return reply
    else
      reply[#reply + 1] = {'w', call('ZLEXCOUNT', k.resources, '[worker:', '(worker;')}
    end
    while kind ~= '' do
      local room = kind == 'a' and C.BACKLOG_HELD - held or limit - (#reply - 3)
      if room <= 0 then
        reply[2], reply[3] = route, kind .. cursor
        return reply
      end
      local found, following = names(k, kind, cursor, room)
      if kind == 'a' then
        held = held + #found
        add_running(k, route, found, reply)
      else
        for _, name in ipairs(found) do
          reply[#reply + 1] = row[kind](k, route, name)
        end
      end
      kind, cursor = next_place(kind, following)
    end
  end
  return reply
end, {'no-writes', 'allow-cross-slot-keys'}, 3, nil, {3})
