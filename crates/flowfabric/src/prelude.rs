//! Every name that a program with tasks and workers needs: `use flowfabric::prelude::*`.

pub use crate::{
    BudgetBuilder, Builder, Bytes, CancellationToken, Error, ExecutionId, Fence, FlowFabric,
    FromPayload, FromTask, Handler, Handling, Json, LeaseId, NeededState, Payload, Progress,
    PublicState, QuotaBuilder, RequestId, SignalEffect, SignedToken, State, StopReason, Tail,
    TaskBuilder, TaskContext, TaskError, TaskHandle, ToPayload, TokenStream, Untyped, Worker,
    WorkerBuilder,
};
