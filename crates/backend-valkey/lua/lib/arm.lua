-- Timers: of executions, of resources, and of continuations.

-- How soon a timer must be due to be announced, in ms.
local SOON = 1000

-- Announces a timer of one of the three indexes if it is due soon and comes first there.
local function announce(k, timers, member, due, now)
  if due - now <= SOON and call('ZRANGE', timers, 0, 0)[1] == member then
    call('SPUBLISH', k.channel, string.format('T%.0f', due))
  end
end

-- Sets a timer in one of the three indexes.
function ff.arm(k, timers, member, due, now)
  call('ZADD', timers, due, member)
  announce(k, timers, member, due, now)
end

-- Sets timers of executions by one command: the time at which each is due and its id, one after the other.
function ff.arm_all(k, armed, now)
  if not armed[1] then
    return
  end
  call('ZADD', k.timer, unpack(armed))
  local first = 1
  for i = 3, #armed, 2 do
    if armed[i] < armed[first] then
      first = i
    end
  end
  announce(k, k.timer, armed[first + 1], armed[first], now)
end
