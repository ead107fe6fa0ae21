//! Calls that are repeated: after a failure that may pass, or a reply that was lost.

use std::future::Future;
use std::time::Duration;

use crate::error::StoreError;

/// Pauses that double from `first` to `longest`. Each is between half and the whole of its length, so
/// that many who failed together do not come back together.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// Pauses that begin at `first`.
    pub fn new(first: Duration, longest: Duration) -> Backoff {
        Backoff { first, next: first, longest }
    }

    /// The pause to make now.
    pub fn pause(&mut self) -> Duration {
        let whole = self.next;
        self.next = (whole * 2).min(self.longest);
        whole.mul_f64(0.5 + fastrand::f64() / 2.0)
    }

    /// Begins again at the first pause, after a success.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

/// Makes `call` until it is answered, or until `again`, which gets each failure and the pause
/// that would follow, answers no. The call gets whether it was made before: one that takes something
/// says so in its command, and the store answers what the lost reply did.
pub async fn repeated<T, F>(
    mut backoff: Backoff,
    mut again: impl FnMut(&StoreError, Duration) -> bool,
    call: impl Fn(bool) -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    let mut answer = call(false).await;
    while let Err(error) = &answer {
        let pause = backoff.pause();
        if !again(error, pause) {
            break;
        }
        tokio::time::sleep(pause).await;
        answer = call(true).await;
    }
    answer
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const FIRST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_millis(400);

    #[test]
    fn pauses_double_up_to_the_longest_and_are_never_zero() {
        let mut backoff = Backoff::new(FIRST, LONGEST);
        for whole in [100, 200, 400, 400, 400] {
            let (whole, pause) = (Duration::from_millis(whole), backoff.pause());
            assert!(pause >= whole / 2 && pause <= whole, "{pause:?} of {whole:?}");
        }
        backoff.reset();
        assert!(backoff.pause() <= FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_made_until_it_is_answered_and_knows_that_it_is_repeated() {
        let calls = RefCell::new(Vec::new());
        let answer = repeated(
            Backoff::new(FIRST, LONGEST),
            |error, _| error.is_retryable(),
            async |repeated| {
                calls.borrow_mut().push(repeated);
                if calls.borrow().len() < 3 { Err(StoreError::Contention) } else { Ok(()) }
            },
        );
        assert!(answer.await.is_ok());
        assert_eq!(*calls.borrow(), [false, true, true]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_given_up_ends_with_its_last_error() {
        let mut failures = 0;
        let again = |_: &StoreError, _| {
            failures += 1;
            failures < 3
        };
        let backoff = Backoff::new(FIRST, LONGEST);
        let answer = repeated(backoff, again, async |_| Err::<(), _>(StoreError::Contention)).await;
        assert!(answer.is_err());
        assert_eq!(failures, 3, "every failure is reported to it");
    }
}
