"""Runs one execution with the client that is generated from the document, and with nothing else.

Usage: program.py URL TOKEN
"""

import json
import sys
from typing import TypeVar
from uuid import UUID, uuid4

from flowfabric_client import AuthenticatedClient
from flowfabric_client.api.executions import (
    get_execution,
    get_execution_result,
    list_executions,
    submit_execution,
)
from flowfabric_client.api.holder import complete_execution, report_progress
from flowfabric_client.api.workers import claim_executions, send_heartbeat
from flowfabric_client.models import (
    BeatStatus,
    ClaimedView,
    ClaimRequest,
    CompleteRequest,
    ExecutionView,
    ExitOutcome,
    ExitView,
    HeartbeatView,
    HoldBody,
    LeasesBody,
    ListPageView,
    Problem,
    ProgressRequest,
    ProgressView,
    PublicState,
    StateFilter,
    SubmitRequest,
    SubmittedView,
)
from flowfabric_client.types import File

T = TypeVar("T")


def a(kind: type[T], answer: object) -> T:
    """The answer, which must be of this kind."""
    assert isinstance(answer, kind), f"not a {kind.__name__}: {answer}"
    return answer


def listed(client: AuthenticatedClient, states: list[StateFilter]) -> list[UUID]:
    page = a(ListPageView, list_executions.sync(client=client, state=states))
    return [execution.id for execution in page.executions]


url, token = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)

work = SubmitRequest(kind="add", input_={"numbers": [1, 2.5]})
submitted = a(SubmittedView, submit_execution.sync(client=client, body=work))
assert submitted.new and submitted.state == PublicState.WAITING, submitted
execution = submitted.id
assert listed(client, [StateFilter.WAITING, StateFilter.ACTIVE]) == [execution]
assert listed(client, [StateFilter.ACTIVE, StateFilter.COMPLETED]) == []

claim = ClaimRequest(instance="python-1", request=uuid4())
claimed = a(ClaimedView, claim_executions.sync("python", client=client, body=claim))
(assignment,) = claimed.assignments
assert assignment.execution == execution and assignment.kind == "add", assignment
assert assignment.input_ == {"numbers": [1, 2.5]}, assignment
assert claim_executions.sync("python", client=client, body=claim) == claimed, "a repeated claim"
fence = assignment.fence

leases = LeasesBody(leases=[HoldBody(execution=execution, fence=fence)])
(beat,) = a(HeartbeatView, send_heartbeat.sync("python", client=client, body=leases)).leases
assert beat.status == BeatStatus.RENEWED, beat
halfway = ProgressRequest(fence=fence, percent=50, message="halfway")
assert report_progress.sync_detailed(execution, client=client, body=halfway).status_code == 204
held = a(ExecutionView, get_execution.sync(execution, client=client))
assert held.state == PublicState.ACTIVE, held
assert a(ProgressView, held.progress).percent == 50, held

done = CompleteRequest(fence=fence, result={"sum": 3.5})
ended = a(ExitView, complete_execution.sync(execution, client=client, body=done))
assert ended.outcome == ExitOutcome.COMPLETED, ended
view = a(ExecutionView, get_execution.sync(execution, client=client))
assert view.state == PublicState.COMPLETED and view.ended is not None, view
assert listed(client, [StateFilter.ACTIVE, StateFilter.COMPLETED]) == [execution]
result = a(File, get_execution_result.sync(execution, client=client))
assert json.loads(result.payload.read()) == {"sum": 3.5}

other = UUID(int=execution.int ^ 1)
missing = a(Problem, get_execution.sync(other, client=client))
assert (missing.status, missing.code) == (404, "not_found"), missing
again = CompleteRequest(fence=fence, result=4)
late = a(Problem, complete_execution.sync(execution, client=client, body=again))
assert late.status == 409 and not late.retryable, late
stranger = AuthenticatedClient(base_url=url, token="wrong")
assert a(Problem, get_execution.sync(execution, client=stranger)).status == 401

print(f"completed {execution}")
