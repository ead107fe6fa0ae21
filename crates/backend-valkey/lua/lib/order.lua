-- Places in ordered sets: a score, and among those of one score a member.

-- Whether a text sorts before another byte by byte, whatever the server's locale.
function ff.less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then
      return x < y
    end
  end
  return #a < #b
end

-- How many members of an ordered set precede a place, itself included unless before is set. It
-- need not be a member. Any number of members may share its score: binary search finds the place.
function ff.rank(key, score, member, before)
  local text = string.format('%.0f', score)
  local low = call('ZCOUNT', key, '-inf', '(' .. text)
  local high = low + call('ZCOUNT', key, text, text)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = call('ZRANGE', key, middle, middle)[1]
    if ff.less(other, member) or other == member and not before then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end
