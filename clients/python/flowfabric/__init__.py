"""Durable execution for Python programs: submit tasks, run them in workers, and have them survive crashes.

    from flowfabric import App, Task

    app = App("http://127.0.0.1:7272")

    @app.task("order")
    def order(task: Task, cents: int) -> str:
        receipt = task.step("charge", charge, cents, key=task.key("charge"))  # runs once
        task.sleep("cool off", 86_400)                                        # leaves the worker for a day
        return receipt

    app.run()

`App` has handlers and runs them; `Client` and `AsyncClient` submit work and watch it; `flowfabric.testing` starts a
server for tests. See docs/python.md.
"""

from .app import App
from .client import AsyncClient, AsyncHandle
from .errors import (
    AccessDenied,
    CancelTask,
    Conflict,
    DelayTask,
    ExecutionCancelled,
    ExecutionEnded,
    ExecutionExpired,
    ExecutionFailed,
    ExecutionSkipped,
    FlowFabricError,
    InvalidRequest,
    NotFound,
    Overloaded,
    Parked,
    PermanentError,
    RetryableError,
    ServerFailed,
    ServerUnreachable,
    Stopped,
    TaskError,
    TaskExit,
    WaitTimeout,
)
from .flow import AsyncFlowHandle, Flow, FlowNode
from .payload import Payload
from .plain import Client, FlowHandle, Handle
from .task import AsyncTask, AsyncTokenStream, Task, TokenStream
from .views import Attempt, Execution, Explanation, Frame, Signal, Step
from .wait import Decision, Vote, Wait, Waited
from .work import Work, work

__version__ = "0.1.0"

__all__ = [
    "AccessDenied",
    "App",
    "AsyncClient",
    "AsyncFlowHandle",
    "AsyncHandle",
    "AsyncTask",
    "AsyncTokenStream",
    "Attempt",
    "CancelTask",
    "Client",
    "Conflict",
    "Decision",
    "DelayTask",
    "Execution",
    "ExecutionCancelled",
    "ExecutionEnded",
    "ExecutionExpired",
    "ExecutionFailed",
    "ExecutionSkipped",
    "Explanation",
    "Flow",
    "FlowFabricError",
    "FlowHandle",
    "FlowNode",
    "Frame",
    "Handle",
    "InvalidRequest",
    "NotFound",
    "Overloaded",
    "Parked",
    "Payload",
    "PermanentError",
    "RetryableError",
    "ServerFailed",
    "ServerUnreachable",
    "Signal",
    "Step",
    "Stopped",
    "Task",
    "TaskError",
    "TaskExit",
    "TokenStream",
    "Vote",
    "Wait",
    "WaitTimeout",
    "Waited",
    "Work",
    "work",
]
