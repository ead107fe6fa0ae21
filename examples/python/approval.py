#!/usr/bin/env python3
"""A deployment that two different people must approve.

It waits for them without a worker, for as long as they take. Who decides is known by the token or the link that was
made for them, so nobody is two people.

    python3 approval.py              # plays everybody
    python3 approval.py --links      # prints two links, and waits for you

It needs a server, such as that of `flowfabric dev`: FF_URL, by default http://127.0.0.1:7272.
"""

from __future__ import annotations

import asyncio
import sys

from flowfabric import App, AsyncClient, AsyncHandle, AsyncTask, ExecutionFailed, PermanentError

DAY = 86_400

app = App()


@app.task("deploy", lane="deploy")
async def deploy(task: AsyncTask, version: str) -> str:
    """Builds once, asks, and ships once if two people have said yes."""
    await task.step("build", lambda: f"{version}.tar")
    decision = await task.wait_for_approval("gate", f"Deploy {version} to production?", approvers=2, timeout=DAY)
    if decision.outcome == "rejected":
        no = decision.votes[0]
        raise PermanentError(f"{no.by} said no: {no.comment or 'no reason given'}")
    if not decision.approved:
        raise PermanentError("nobody decided")
    await task.step("ship", lambda: None)
    return f"{version} is out, approved by {' and '.join(vote.by for vote in decision.votes)}"


async def asking(client: AsyncClient, version: str) -> AsyncHandle:
    """A deployment that asks."""
    work = await client.submit("deploy", version, lane="deploy")
    while await work.state() != "suspended":
        await asyncio.sleep(0.02)
    print(f"{version}: {await work.explain()}")
    return work


async def two_approve(client: AsyncClient) -> None:
    work = await asking(client, "1.4")
    ann, bo = await work.token("approval", "ann"), await work.token("approval", "bo")
    print("ann approves:", await client.deliver_signal(ann, "approve", {"comment": "fine"}))
    print("ann approves once more:", await client.deliver_signal(ann, "approve", {"comment": "really fine"}))
    assert await work.state() == "suspended", "one person does not count twice"
    print("bo approves:", await client.deliver_signal(bo, "approve", {"comment": "go"}))
    print(await work.result())


async def one_rejects(client: AsyncClient) -> None:
    work = await asking(client, "1.5")
    bo = await work.token("approval", "bo")
    print("bo rejects:", await client.deliver_signal(bo, "reject", {"comment": "not on a Friday"}))
    try:
        print(await work.result())
    except ExecutionFailed as failed:
        print(failed.message)


async def by_hand(client: AsyncClient) -> None:
    """Leaves the decision to two people with a browser."""
    work = await asking(client, "1.6")
    for person in ("ann", "bo"):
        print(f"for {person}: {await work.approval_link('approval', person)}", flush=True)
    try:
        print(await work.result())
    except ExecutionFailed as failed:
        print(failed.message)


async def main() -> None:
    async with AsyncClient() as client:
        serving = asyncio.create_task(app.serve())
        if "--links" in sys.argv:
            await by_hand(client)
        else:
            await two_approve(client)
            await one_rejects(client)
        app.stop()
        await serving


if __name__ == "__main__":
    asyncio.run(main())
