//! Handlers: plain async functions over typed inputs and outputs.

use std::future::Future;
use std::pin::Pin;

use ff_core::Payload;

use crate::context::TaskContext;
use crate::extract::{FromTask, NeededState};
use crate::payload::{FromPayload, ToPayload};
use crate::task_error::TaskError;

/// The future of a handler.
pub type Handling = Pin<Box<dyn Future<Output = Result<Payload, TaskError>> + Send>>;

/// Something that can do a kind of work: an async function whose last argument is the input, after up
/// to three of [`TaskContext`] and [`State`](crate::State), and whose error converts into a
/// [`TaskError`].
///
/// ```
/// use ff_sdk::{Handler, State, TaskContext, TaskError};
/// # struct Database;
/// async fn plain(input: String) -> Result<usize, TaskError> { Ok(input.len()) }
/// async fn with_task(task: TaskContext, input: u32) -> Result<u32, std::io::Error> { Ok(input) }
/// async fn with_state(db: State<Database>, input: u32) -> Result<(), TaskError> { Ok(()) }
/// async fn both(task: TaskContext, db: State<Database>, input: u32) -> Result<(), TaskError> {
///     Ok(())
/// }
///
/// fn takes<Args>(handler: impl Handler<Args>) {}
/// takes(plain);
/// takes(with_task);
/// takes(with_state);
/// takes(both);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler",
    label = "this cannot handle tasks",
    note = "a handler is an async function: up to three of `TaskContext` and `State<S>`, then an input \
            that is `Deserialize`; its result is `Serialize`, its error converts into `TaskError`, and \
            its future is `Send`"
)]
pub trait Handler<Args>: Send + Sync + 'static {
    /// Does it.
    fn handle(&self, context: TaskContext) -> Handling;

    /// The state that its arguments need.
    fn needs() -> Vec<NeededState>;
}

macro_rules! handler_of {
    ($($extracted:ident),*) => {
        #[allow(non_snake_case, reason = "a type and the argument of it share a name")]
        impl<F, Fut, $($extracted,)* T, R, E> Handler<($($extracted,)* T,)> for F
        where
            F: Fn($($extracted,)* T) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = Result<R, E>> + Send + 'static,
            $($extracted: FromTask,)*
            T: FromPayload,
            R: ToPayload,
            E: Into<TaskError>,
        {
            fn handle(&self, context: TaskContext) -> Handling {
                let work = (|| {
                    $(let $extracted = $extracted::from_task(&context)?;)*
                    let input = T::from_payload(context.input());
                    let input = input.map_err(|error| TaskError::bad_input(&error))?;
                    Ok::<Fut, TaskError>(self($($extracted,)* input))
                })();
                Box::pin(async move {
                    let result = work?.await.map_err(Into::<TaskError>::into)?;
                    Ok(result.to_payload()?)
                })
            }

            fn needs() -> Vec<NeededState> {
                let needs: Vec<Option<NeededState>> = vec![$($extracted::needs()),*];
                needs.into_iter().flatten().collect()
            }
        }
    };
}

handler_of!();
handler_of!(A);
handler_of!(A, B);
handler_of!(A, B, C);
