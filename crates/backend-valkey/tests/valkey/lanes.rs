//! A change of a lane is copied to all partitions concurrently.

use ff_core::{Lane, Namespace, Patch};
use ff_store::ClientBackend;
use ff_store::roles::LaneUpdate;
use ff_testkit::valkey::Server;

use crate::fixture::Home;

/// Reports the most reads before a write that followed one of them.
const READS: &str = "
    -- The global is looked up when it runs: the table seen while a library loads has no call.
    local server = {
      call = function(...) return redis.call(...) end,
      error_reply = function(text) return redis.error_reply(text) end,
    }
    local loading, reads, most = redis, 0, 0
    redis.register_function{function_name = 'reads_@', callback = function()
      return most
    end, flags = {'no-writes'}}
    local redis = {
      call = function(...) return server.call(...) end,
      error_reply = function(text) return server.error_reply(text) end,
      register_function = function(spec)
        local callback, name = spec.callback, spec.function_name
        spec.callback = function(keys, args)
          if string.find(name, '_load$') then
            reads = reads + 1
            most = math.max(most, reads)
          elseif string.find(name, '_settle$') then
            reads = 0
          end
          return callback(keys, args)
        end
        loading.register_function(spec)
      end,
    }
";

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_a_lane_goes_to_all_partitions_at_once() {
    let home = Home::on(Server::shared(), 64);
    let name = home.options.prefix.as_str().to_owned();
    let process = home.with_prelude(&READS.replace('@', &name)).open().await;
    let order = LaneUpdate {
        namespace: Namespace::default(),
        lane: Lane::default(),
        paused: Some(true),
        draining: None,
        max_active: Patch::Unset,
        defaults: Patch::Unset,
        reason: None,
    };
    assert!(process.update_lane(order).await.unwrap().paused);
    let most = Server::shared().command(&["FCALL", &format!("reads_{name}"), "0"]).unwrap();
    let most: u64 = most.to_string().parse().unwrap();
    eprintln!("{most} of 63 copies were read before the first was written");
    assert!(most >= 16, "{most}: one copy waits for another");
}
