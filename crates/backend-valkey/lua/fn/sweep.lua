-- Removes empty queues from the registry of their partition.
--
-- args: names of queues.
-- reply: how many were removed.

register('sweep', function(keys, args)
  local k, count = ff.keys(keys[1]), 0
  for _, name in ipairs(args) do
    if ff.queue.forget(k, name) then
      count = count + 1
    end
  end
  return count
end, {'allow-oom'}, 0, 1)
