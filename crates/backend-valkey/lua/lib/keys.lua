-- The keys of one partition, made from the routing key of a call, PREFIX:{p:N}.

ff.keys = function(route)
  local prefix, tag = string.match(route, '^(.*):({p:%d+})$')
  local idx = prefix .. ':idx:' .. tag .. ':'
  return {
    exec = prefix .. ':exec:' .. tag .. ':',
    idx = idx,
    timer = idx .. 'timer',
    requests = idx .. 'requests',
    queues = idx .. 'queues',
    namespaces = idx .. 'namespaces',
    channel = prefix .. ':wake:' .. tag,
  }
end
