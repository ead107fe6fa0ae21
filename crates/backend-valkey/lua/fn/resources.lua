-- A range of the resources of a namespace, in the order of their names.
--
-- args: kind, namespace, name after which to begin ('' for the start), how many at most.
-- reply: name and bytes of each, one after the other.

register('resources', function(keys, args)
  local k, kind, ns, after, limit = ff.keys(keys[1]), unpack(args)
  local all = ff.name.resource(kind, ns, '')
  local _, to = ff.name.beginning(all)
  local names = call('ZRANGEBYLEX', k.resources, '(' .. all .. after, to, 'LIMIT', 0, tonumber(limit))
  local reply = {}
  for _, name in ipairs(names) do
    reply[#reply + 1] = name
    reply[#reply + 1] = call('GET', ff.key.resource(k, name))
  end
  return reply
end, {'no-writes'}, 4, nil, {4})
