//! How much waits, and for what.

use ff_core::placement::Score;
use ff_store::StoreError;
use ff_store::census::Census;

use crate::keys;
use crate::look;
use crate::reply;
use crate::store::Shared;

pub(crate) async fn count(store: &Shared) -> Result<Census, StoreError> {
    let mut census = Census::default();
    for answer in store.link.call_each("census", &store.keys.routes(), &[]).await? {
        let mut values = reply::list(answer)?.into_iter();
        let mut next = || values.next().ok_or_else(reply::missing);
        census.now = census.now.max(reply::time(&next()?)?);
        census.workers += reply::number(&next()?)?.unsigned_abs();
        for queue in reply::list(next()?)? {
            let mut parts = reply::list(queue)?.into_iter();
            let mut part = || parts.next().ok_or_else(reply::missing);
            let (namespace, lane) =
                look::queue(&reply::text(part()?)?).ok_or_else(reply::missing)?;
            let count = reply::number(&part()?)?.unsigned_abs();
            let head = reply::maybe_number(&part()?)?.ok_or_else(reply::missing)?;
            census.add_queue(namespace, lane, count, Score::from_stored(head));
        }
        for blocked in reply::list(next()?)? {
            let mut parts = reply::list(blocked)?.into_iter();
            let mut part = || parts.next().ok_or_else(reply::missing);
            let name = keys::parse_limit(&reply::bytes(part()?)?).ok_or_else(reply::missing)?;
            *census.blocked.entry(name).or_default() += reply::number(&part()?)?.unsigned_abs();
        }
    }
    Ok(census)
}
