//! Every name that a program with tasks and workers needs: `use flowfabric::prelude::*`.

pub use crate::{
    Approval, BudgetBuilder, Builder, Bytes, CancellationToken, Child, Decided, Error, ExecutionId,
    Fence, FlowBuilder, FlowCounts, FlowFabric, FlowHandle, FlowMember, FlowPage, FromPayload,
    FromTask, Handler, Handling, HeldMembers, Json, LeaseId, NeededState, OnFailure, OnTimeout,
    Payload, Progress, PublicState, QuotaBuilder, RequestId, SignalEffect, SignedToken, State,
    StopReason, SuspendReason, Tail, TaskBuilder, TaskContext, TaskError, TaskHandle, TaskSignal,
    TaskWaitpoint, ToPayload, TokenStream, Untyped, Vote, Wait, Waited, Worker, WorkerBuilder,
};
