//! Counts what functions visit: the commands they run and the elements these answer.

use std::collections::BTreeMap;

use ff_testkit::valkey::{Reply, Server};

/// Lua at the head of a library that counts, and answers the most of any call by `most_NAME`.
const COUNT: &str = "
-- The global is looked up when it runs: the table seen while a library loads has no call.
local server = {
  call = function(...) return redis.call(...) end,
  error_reply = function(text) return redis.error_reply(text) end,
}
local visits, most, calls = 0, {}, {}

local function elements(answer)
  if type(answer) ~= 'table' then
    return 0
  end
  local sum = #answer
  for i = 1, #answer do
    sum = sum + elements(answer[i])
  end
  return sum
end

wrap_call = function(call)
  return function(...)
    local answer = call(...)
    visits = visits + 1 + elements(answer)
    return answer
  end
end

redis.register_function{function_name = 'most_@', callback = function()
  local all = {}
  for verb, count in pairs(most) do
    all[#all + 1] = verb
    all[#all + 1] = count
    all[#all + 1] = calls[verb]
  end
  return all
end, flags = {'no-writes'}}

local loading = redis
local redis = {
  call = function(...) return server.call(...) end,
  error_reply = function(text) return server.error_reply(text) end,
  register_function = function(spec)
    local callback, name = spec.callback, spec.function_name
    -- While a library loads there is no string.
    spec.callback = function(keys, args)
      local verb = string.match(name, '^ff_%x+_(.*)$')
      visits = 0
      calls[verb], most[verb] = (calls[verb] or 0) + 1, most[verb] or 0
      local answer = callback(keys, args)
      most[verb] = math.max(most[verb], visits)
      return answer
    end
    loading.register_function(spec)
  end,
}
";

/// A library that counts under this name.
pub(crate) fn counting(name: &str) -> String {
    COUNT.replace('@', name)
}

/// What was counted of one function.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    /// The most that one call has visited.
    pub(crate) most: i64,
    /// How often it was called.
    pub(crate) calls: i64,
}

/// What `server` has counted of each function.
pub(crate) fn counted(server: &Server, name: &str) -> BTreeMap<String, Counted> {
    let answer = server.command(&["FCALL", &format!("most_{name}"), "0"]).unwrap();
    let number = |reply: &Reply| reply.to_string().parse().unwrap();
    let each = answer.list().chunks(3).map(|counted| {
        let [verb, most, calls] = counted else { panic!("{answer}") };
        (verb.to_string(), Counted { most: number(most), calls: number(calls) })
    });
    each.collect()
}
