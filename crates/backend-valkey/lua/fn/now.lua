-- The store's time.
--
-- keys: a routing key. args: none.
-- reply: milliseconds.

register('now', function()
  return now()
end, {'no-writes'}, 0)
