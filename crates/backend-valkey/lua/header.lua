-- The base of every file of the library. Before it come NAME, the name of the library, and
-- wrap_call and wrap_now, which only a test's prelude sets.

-- The global is looked up when it runs: the table seen while the library loads has no call.
local function raw_call(...)
  return redis.call(...)
end

local function server_time()
  local time = raw_call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Every command of a function goes through here; one that fails raises. The first one replaces this
-- by the server's function, which all files then share.
local call
call = wrap_call and wrap_call(raw_call) or function(...)
  call = redis.call
  return call(...)
end

-- The time in whole milliseconds; it is constant during a function.
local now = wrap_now and wrap_now(server_time) or server_time

-- What a part of a call answered, or raised.
local function answered(ran, answer, ...)
  if ran then
    return answer, ...
  end
  local text = type(answer) == 'table' and answer.err or tostring(answer)
  return redis.error_reply(string.match(text, '^%u+ ') and text or 'ERR ' .. text)
end

-- Runs one part of a call: what it raises is its own answer, and affects no other part. What a command
-- of the server raises comes as text that begins with its code.
local function apart(part, ...)
  return answered(pcall(part, ...))
end

local function wrong_count(verb, args)
  return redis.error_reply('FF_ARITY ' .. verb .. ' was called with ' .. #args .. ' arguments')
end

-- Whether arguments from a place on are whole groups; following answers where the group after the one at
-- a place begins, nil if there is none at that place.
local function whole(args, at, following)
  while at and at <= #args do
    at = following(args, at)
  end
  return at == #args + 1
end

-- A function declared over keys of several slots takes their count and names as its first
-- arguments: the server refuses them as keys.
local function spread(verb, callback)
  return function(_, args)
    local count = tonumber(args[1])
    if not count or count < 1 or count > #args - 1 then
      return wrong_count(verb, args)
    end
    local keys, rest = {}, {}
    for i = 2, count + 1 do
      keys[#keys + 1] = args[i]
    end
    for i = count + 2, #args do
      rest[#rest + 1] = args[i]
    end
    return callback(keys, rest)
  end
end

-- Refuses a call with another number of arguments, or without numbers where they are
-- required, before anything is read.
local function counted(verb, callback, arity, each, numbers)
  return function(keys, args, time)
    local more = #args - arity
    if (each and (more < each or more % each ~= 0)) or (not each and more ~= 0) or #keys == 0 then
      return wrong_count(verb, args)
    end
    for at = 0, #numbers > 0 and arity == 0 and #args - 1 or 0, each or 1 do
      for i = 1, #numbers do
        if not tonumber(args[at + numbers[i]]) then
          return redis.error_reply('FF_ARGUMENT ' .. verb .. ' was called with other than a number')
        end
      end
    end
    return callback(keys, args, time)
  end
end

-- What the functions of verbs do, for calls that come together. These give the time as a third argument,
-- so that it is read once.
local callbacks = {}

-- Registers the function of a verb; flags is a list, or nil. arity is the number of its arguments;
-- with each, of those before one or more groups of that size. numbers lists the places of numbers
-- among the former or, where there are none, in each group.
local function register(verb, callback, flags, arity, each, numbers)
  if arity then
    callback = counted(verb, callback, arity, each, numbers or {})
  end
  callbacks[verb] = callback
  -- While a library loads there is no ipairs.
  for i = 1, #(flags or {}) do
    if flags[i] == 'allow-cross-slot-keys' then
      callback = spread(verb, callback)
    end
  end
  redis.register_function{function_name = NAME .. '_' .. verb, callback = callback, flags = flags}
end
