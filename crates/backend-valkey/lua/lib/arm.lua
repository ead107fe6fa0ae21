-- Timers: of executions, and of resources.

-- How soon a timer must be due to be announced, in ms.
local SOON = 1000

-- Sets a timer in one of the two indexes. One that is due soon and comes first there is announced.
function ff.arm(k, timers, member, due, now)
  call('ZADD', timers, due, member)
  if due - now <= SOON and call('ZRANGE', timers, 0, 0)[1] == member then
    call('SPUBLISH', k.channel, string.format('T%.0f', due))
  end
end
