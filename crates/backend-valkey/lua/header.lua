-- What every file of the library stands on. Before it come NAME, the library's own name, and
-- wrap_call and wrap_now, which only a test's prelude gives values.

-- The global is looked up when it runs: the table seen while the library loads has no call.
local function raw_call(...)
  return redis.call(...)
end

local function server_time()
  local time = raw_call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Every command of a function goes through here; one that fails raises. The first one puts the
-- server's own function in its place, which all files then share.
local call
call = wrap_call and wrap_call(raw_call) or function(...)
  call = redis.call
  return call(...)
end

-- The time in whole milliseconds; it stands still during a function.
local now = wrap_now and wrap_now(server_time) or server_time

-- A function declared over keys of several slots takes their count and names as its first
-- arguments: the server refuses them as keys.
local function spread(callback)
  return function(_, args)
    local count = tonumber(args[1])
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

-- Refuses a call with another number of arguments before it reads anything; a negative arity is
-- the least number.
local function counted(verb, callback, arity)
  return function(keys, args)
    if #args ~= arity and (arity >= 0 or #args < -arity) then
      return redis.error_reply('FF_ARITY ' .. verb .. ' was called with ' .. #args .. ' arguments')
    end
    return callback(keys, args)
  end
end

-- Registers the function of a verb. flags is a list, or nil; so is arity, the number of arguments.
local function register(verb, callback, flags, arity)
  if arity then
    callback = counted(verb, callback, arity)
  end
  -- While a library loads there is no ipairs.
  for i = 1, #(flags or {}) do
    if flags[i] == 'allow-cross-slot-keys' then
      callback = spread(callback)
    end
  end
  redis.register_function{function_name = NAME .. '_' .. verb, callback = callback, flags = flags}
end
