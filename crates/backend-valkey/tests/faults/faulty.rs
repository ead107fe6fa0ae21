//! A store whose functions fail at a chosen call, and everything its server holds of it.

use std::collections::{BTreeMap, BTreeSet};

use ff_backend_valkey::{Options, PartialWrite, Prefix, ValkeyStore};
use ff_conformance::{Snapshot, TestClock, snapshot};
use ff_core::Millis;
use ff_core::machine::{Command, Reply};
use ff_store::audit::{Report, audit};
use ff_store::{Store, StoreError};
use ff_testkit::valkey::{CommandError, Reply as Raw, Server};

use crate::fixture::{Borrowed, LuaClock, fresh_prefix, prelude};

/// One step in a store.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A command that must succeed.
    Run(Box<Command>),
    /// Time passes.
    Pass(u64),
}

/// A new store.
pub(crate) struct Faulty {
    pub(crate) store: ValkeyStore,
    clock: LuaClock,
    server: &'static Server,
    prefix: String,
    library: Borrowed,
}

/// Everything under a prefix: the elements of every key.
pub(crate) type Everything = BTreeMap<String, BTreeSet<Vec<u8>>>;

/// Reads or removes all keys of a store, and makes the k-th call of the next run of a function fail.
/// The function that runs is known because this wraps the registration of the library's
/// functions.
const FAULTS: &str = r"
local function every_key(prefix)
  local keys = redis.call('KEYS', prefix .. ':*')
  table.sort(keys)
  return keys
end

local function elements(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'string' then
    return {redis.call('GET', key)}
  elseif kind == 'set' then
    return redis.call('SMEMBERS', key)
  elseif kind == 'stream' then
    local entries = redis.call('XRANGE', key, '-', '+')
    for i, entry in ipairs(entries) do
      entries[i] = entry[1] .. ' is ' .. table.concat(entry[2], ' ')
    end
    return entries
  end
  local ordered = kind == 'zset'
  local pairs = ordered and redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    or redis.call('HGETALL', key)
  local found = {}
  for i = 1, #pairs, 2 do
    found[#found + 1] = pairs[i] .. (ordered and ' at ' or ' is ') .. pairs[i + 1]
  end
  return found
end

redis.register_function{function_name = 'everything_@', callback = function(_, args)
  local all = {}
  for i, key in ipairs(every_key(args[1])) do
    all[i] = {key, elements(key)}
  end
  return all
end, flags = {'no-writes'}}

redis.register_function{function_name = 'wipe_@', callback = function(_, args)
  for _, key in ipairs(every_key(args[1])) do
    redis.call('DEL', key)
  end
end}

local verb, fails_at, calls, failed, running = '', 0, 0, 0, ''

redis.register_function{function_name = 'fail_@', callback = function(_, args)
  local before = failed
  verb, fails_at, calls, failed = args[1], tonumber(args[2]), 0, 0
  return before
end, flags = {'no-writes'}}

local names, last = {}, {}

-- While a library loads there is no string.
local function verb_of(name)
  return string.match(name, '^ff_%x+_(.*)$')
end

redis.register_function{function_name = 'name_@', callback = function(_, args)
  for _, name in ipairs(names) do
    if verb_of(name) == args[1] then
      return name
    end
  end
end, flags = {'no-writes'}}

redis.register_function{function_name = 'last_@', callback = function(_, args)
  return last[args[1]]
end, flags = {'no-writes'}}

redis.register_function{function_name = 'calls_@', callback = function()
  return calls
end, flags = {'no-writes'}}

wrap_call = function(call)
  return function(...)
    if running == verb then
      calls = calls + 1
      if calls == fails_at then
        failed = 1
        error('a planted fault')
      end
    end
    return call(...)
  end
end

local loading = redis
local redis = {
  call = function(...) return server.call(...) end,
  error_reply = function(text) return server.error_reply(text) end,
  register_function = function(spec)
    local callback = spec.callback
    names[#names + 1] = spec.function_name
    spec.callback = function(keys, args)
      running = verb_of(spec.function_name)
      last[running] = args
      return callback(keys, args)
    end
    loading.register_function(spec)
  end,
}
";

impl Faulty {
    /// An empty store.
    pub(crate) async fn new() -> Faulty {
        let (server, library, prefix) = (Server::shared(), Borrowed::new(), fresh_prefix());
        let mut options: Options = server.url().parse().unwrap();
        options.prefix = Prefix::new(&prefix).unwrap();
        options.partitions = Some(1);
        let faults = FAULTS.replace('@', &library.number().to_string());
        options.prelude = prelude(library.number(), "faults") + &faults;
        // A lane is full with one class: the slow path is taken with two submits instead of 1025.
        options.alter = vec![("CLASSES = 1024".into(), "CLASSES = 1".into())];
        let store = ValkeyStore::open(&options).await.unwrap();
        let clock = LuaClock::new(std::slice::from_ref(server), library.number(), "faults");
        let faulty = Faulty { store, clock, server, prefix, library };
        faulty.fail("", 0);
        faulty
    }

    /// Runs all steps.
    pub(crate) async fn play(&self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Pass(ms) => self.clock.advance(Millis::new(*ms)).await,
                Step::Run(command) => {
                    self.run(std::slice::from_ref(&**command)).await.unwrap();
                }
            }
        }
    }

    /// Runs commands in one batch. Answers the first error, if there is one.
    pub(crate) async fn run(&self, commands: &[Command]) -> Result<Vec<Reply>, StoreError> {
        self.store.execute(commands.to_vec()).await.into_iter().collect()
    }

    /// Makes a call of the next run of a function fail. Answers whether the last one that was set to
    /// fail did.
    pub(crate) fn fail(&self, verb: &str, call: usize) -> bool {
        self.function("fail", &[verb, &call.to_string()]) == Raw::Number(1)
    }

    /// Whether the call that was set to fail did; none is any more.
    pub(crate) fn failed(&self) -> bool {
        self.fail("", 0)
    }

    /// Calls a function of the library as it is, on the only partition.
    pub(crate) fn call(&self, verb: &str, args: &[Vec<u8>]) -> Result<Raw, String> {
        let name = self.function("name", &[verb]).to_string();
        let route = format!("{}:{{p:0}}", self.prefix);
        let mut words =
            vec![b"FCALL".to_vec(), name.into_bytes(), b"1".to_vec(), route.into_bytes()];
        words.extend_from_slice(args);
        self.server.command(&words).map_err(|error| match error {
            CommandError::Refused(why) => why,
            other => panic!("{other}"),
        })
    }

    /// The arguments of the last call of a function.
    pub(crate) fn last_args(&self, verb: &str) -> Vec<Vec<u8>> {
        let args = self.function("last", &[verb]);
        args.list().iter().map(|arg| arg.bytes().to_vec()).collect()
    }

    /// How many calls the function that may fail has made.
    pub(crate) fn calls(&self) -> Raw {
        self.function("calls", &[])
    }

    /// Every function of the library.
    pub(crate) fn verbs(&self) -> Vec<String> {
        let name = self.function("name", &["submit"]).to_string();
        let library = name.trim_end_matches("_submit");
        let list = ["FUNCTION", "LIST", "LIBRARYNAME", library];
        let text = self.server.command(&list).unwrap().to_string();
        let verbs = text.lines().filter_map(|line| line.strip_prefix(library)?.strip_prefix('_'));
        verbs.map(str::to_owned).collect()
    }

    /// All that the server holds.
    pub(crate) fn everything(&self) -> Everything {
        let text = |raw: &Raw| String::from_utf8_lossy(raw.bytes()).into_owned();
        let answer = self.function("everything", &[&self.prefix]);
        let keys = answer.list().iter().map(|key| {
            let elements = key.list()[1].list().iter().map(|element| element.bytes().to_vec());
            (text(&key.list()[0])[self.prefix.len()..].to_owned(), elements.collect())
        });
        keys.filter(|(key, _): &(String, _)| !key.starts_with(":config:")).collect()
    }

    pub(crate) async fn snapshot(&self) -> Snapshot {
        snapshot(&self.store).await.unwrap()
    }

    pub(crate) async fn audit(&self) -> Report {
        audit(self.store.rows().await.unwrap()).await.unwrap()
    }

    /// The partial writes that the audit finds; any other violation fails.
    pub(crate) async fn partial_writes(&self, case: &str) -> BTreeSet<PartialWrite> {
        let (report, snapshot) = (self.audit().await, self.snapshot().await);
        let named = report.violations.iter().map(|violation| {
            let partial = PartialWrite::of(violation, |id| snapshot.record(id).is_some());
            partial.unwrap_or_else(|| panic!("{case} left an unnamed state: {violation:?}"))
        });
        named.collect()
    }

    fn function(&self, name: &str, args: &[&str]) -> Raw {
        let function = format!("{name}_{}", self.library.number());
        let words = [&["FCALL", &function, "0"], args].concat();
        self.server.command(&words).unwrap()
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.function("wipe", &[&self.prefix]);
    }
}
