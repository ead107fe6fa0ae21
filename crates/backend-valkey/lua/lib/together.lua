-- Several calls in one, each as if it came alone.
--
-- args: for each its verb, the routing key of its partition, how many arguments it has, and those.
-- reply: what each answers, which is an error where it failed.

-- Whether these are whole calls of functions that there are.
local function is_whole(args)
  local at = 1
  while at <= #args do
    local count = tonumber(args[at + 2])
    if not callbacks[args[at]] or not count or count < 0 or at + 2 + count > #args then
      return false
    end
    at = at + 3 + count
  end
  return at > 1
end

function ff.together(_, args)
  if not is_whole(args) then
    return wrong_count('together', args)
  end
  local now, replies, at = now(), {}, 1
  while at <= #args do
    local own, from, count = {}, at + 2, tonumber(args[at + 2])
    for i = 1, count do
      own[i] = args[from + i]
    end
    replies[#replies + 1] = apart(callbacks[args[at]], {args[at + 1]}, own, now)
    at = from + count + 1
  end
  return replies
end
