-- The claims of one call: each gets what it would get if it came alone, after those before it.

ff.claims = {}

-- The claims that are packed; nil if they cannot be read. Also how many they take at most.
function ff.claims.read(packed)
  local claims, sum, at = {}, 0, 1
  while at <= #packed do
    local whole, $claim, behind = pcall(struct.unpack, '>$CLAIM', packed, at)
    if not whole then
      return nil
    end
    claims[#claims + 1] = {request = request, first = first, max = max, salt = new_salt, bound = bound,
      passes = passes == 1, worker = worker, instance = instance}
    sum, at = sum + max, behind
  end
  return #claims > 0 and claims or nil, sum
end

-- Which of those that were chosen each claim gets, and what its share begins with. The first claim gets
-- as many as it wants, then the next; a choice of what was admitted has no scores, nor a bound.
function ff.claims.deal(claims, choice)
  local chosen, dealt, at = choice.chosen or choice.plain, {}, 0
  local count, ended = #chosen / 3, false
  for i, claim in ipairs(claims) do
    local from, full = at, false
    while at < count and not full do
      local place = choice.candidates[3 * chosen[3 * at + 1] - 1]
      full = at - from == claim.max or (at > from and (tonumber(place) or 0) > claim.bound)
      at = full and at or at + 1
    end
    local got, status = at - from, 1
    if ended then
      status = 3
    elseif not full and got < claim.max then
      -- It takes what is left, and meets what came behind that.
      if not choice.chosen then
        status, ended = 0, true
      elseif choice.cut == 1 then
        status, ended = (got > 0 or i == 1) and 2 or 3, true
      end
    end
    dealt[i] = {status = status, from = from, count = status == 0 and 0 or got}
  end
  return dealt
end
