"""Everything that can go wrong, in one hierarchy, and how a handler ends without a result.

`FlowFabricError` is what a call raises. It has the stable `code` of the server (see docs/reference/errors.md),
the HTTP `status` if there was an answer, and `retryable`: whether the same call may succeed later.

`TaskError` is what a handler raises to say how its task ends. `TaskExit` is raised *in* a handler, when its task
has left the worker or is stopped; it derives from `BaseException`, so that `except Exception` does not swallow it.
"""

from __future__ import annotations

from typing import Any, Literal

__all__ = [
    "AccessDenied",
    "CancelTask",
    "Conflict",
    "DelayTask",
    "ExecutionCancelled",
    "ExecutionEnded",
    "ExecutionExpired",
    "ExecutionFailed",
    "ExecutionSkipped",
    "FlowFabricError",
    "InvalidRequest",
    "NotFound",
    "Overloaded",
    "Parked",
    "PermanentError",
    "RetryableError",
    "ServerFailed",
    "ServerUnreachable",
    "StopReason",
    "Stopped",
    "TaskError",
    "TaskExit",
    "WaitTimeout",
]

StopReason = Literal["cancel_requested", "cancelled", "lease_lost", "timed_out", "handed_back"]
"""Why a handler should stop. With `cancel_requested` a result in time still counts; otherwise nothing does."""


class FlowFabricError(Exception):
    """A call that was refused, or failed."""

    def __init__(
        self,
        message: str,
        *,
        code: str,
        retryable: bool = False,
        status: int | None = None,
        field: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.retryable = retryable
        self.status = status
        self.field = field
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"

    @staticmethod
    def of_problem(status: int, problem: dict[str, Any], retry_after: float | None) -> FlowFabricError:
        """The error that an answer of the server describes (RFC 9457)."""
        kind = _BY_STATUS.get(status, ServerFailed if status >= 500 else InvalidRequest)
        return kind(
            str(problem.get("detail") or f"the server answered {status}"),
            code=str(problem.get("code") or "protocol_error"),
            retryable=bool(problem.get("retryable", False)),
            status=status,
            field=problem.get("field"),
            retry_after=retry_after,
        )


class InvalidRequest(FlowFabricError):
    """An argument is malformed, out of range or too large. The same call is refused again."""


class NotFound(FlowFabricError):
    """The namespace has no such thing."""


class Conflict(FlowFabricError):
    """The call does not fit the present state, or what an earlier call has done."""


class AccessDenied(FlowFabricError):
    """The token is missing or wrong (401), or its role may not do this (403)."""


class Overloaded(FlowFabricError):
    """Too many requests. Nothing was changed."""


class ServerFailed(FlowFabricError):
    """The server or its store could not carry out the call."""


class ServerUnreachable(FlowFabricError, ConnectionError):
    """No answer: the server cannot be reached, or the connection broke. Whether the call took effect is unknown."""


class WaitTimeout(FlowFabricError, TimeoutError):
    """The execution did not end in the time given. It keeps running."""


_BY_STATUS: dict[int, type[FlowFabricError]] = {
    400: InvalidRequest,
    401: AccessDenied,
    403: AccessDenied,
    404: NotFound,
    409: Conflict,
    410: Conflict,
    429: Overloaded,
}


class ExecutionEnded(FlowFabricError):
    """An execution ended without a result; which way, says the subclass."""

    def __init__(self, execution: str, message: str, *, code: str) -> None:
        super().__init__(message, code=code)
        self.execution = execution


class ExecutionFailed(ExecutionEnded):
    """It failed. `category` is the kind of failure that its last attempt had."""

    def __init__(self, execution: str, message: str, *, category: str | None) -> None:
        super().__init__(execution, message, code="failed")
        self.category = category


class ExecutionCancelled(ExecutionEnded):
    """It was cancelled."""


class ExecutionExpired(ExecutionEnded):
    """It was not done before its deadline."""


class ExecutionSkipped(ExecutionEnded):
    """It is a node of a flow, and too few of those that it depends on have completed."""


class TaskError(Exception):
    """A handler raises a subclass of this to say how its task ends. Any other exception is a `RetryableError`."""


class RetryableError(TaskError):
    """The attempt failed, and another one may succeed. The policy of the task decides whether there is one."""

    def __init__(self, message: str, *, category: str = "error") -> None:
        super().__init__(message)
        self.category = category


class PermanentError(TaskError):
    """The task failed, and no further attempt would succeed."""

    def __init__(self, message: str, *, category: str = "error") -> None:
        super().__init__(message)
        self.category = category


class DelayTask(TaskError):
    """No failure: the same attempt continues, from the beginning of the handler, after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"delayed by {seconds} s")
        self.seconds = seconds


class CancelTask(TaskError):
    """The task cancels itself."""


class TaskExit(BaseException):
    """Ends a handler whose task has left this worker. Do not catch it; `finally` is fine."""


class Parked(TaskExit):
    """The task sleeps or waits, without this worker. It continues, from its beginning, when that is over."""


class Stopped(TaskExit):
    """Nothing that the handler does counts any more."""

    def __init__(self, reason: StopReason) -> None:
        super().__init__(reason)
        self.reason = reason
