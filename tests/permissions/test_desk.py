"""The desk: one question, many places to answer it, one answer."""

from __future__ import annotations

import asyncio
import threading

from agent_kernel.events import PermissionRequested
from agent_kernel.permissions.desk import Desk
from agent_kernel.protocols import ApprovalAnswer
from agent_kernel.vocabulary import CodePreview

ALLOW = ApprovalAnswer(decision="allow_once")
DENY = ApprovalAnswer(decision="deny")


def question(number: int = 1, run_id: str = "r") -> PermissionRequested:
    return PermissionRequested(
        run_id=run_id,
        request_id=f"ask_{number}",
        nonce=f"nonce_{number}",
        tool_use_id="t",
        tool="Python",
        title="Run Python",
        preview=CodePreview(code="1"),
    )


async def test_the_first_valid_answer_counts_and_only_that() -> None:
    desk = Desk()
    asked = asyncio.ensure_future(desk.ask(question()))
    await asyncio.sleep(0)
    assert [request.request_id for request in desk.pending()] == ["ask_1"]
    assert not desk.answer("ask_1", "nonce_2", ALLOW)
    assert not desk.answer("ask_2", "nonce_1", ALLOW)
    assert desk.answer("ask_1", "nonce_1", DENY)
    assert not desk.answer("ask_1", "nonce_1", ALLOW)
    assert await asked == DENY
    assert desk.pending() == ()


async def test_many_threads_answer_and_one_counts() -> None:
    desk = Desk()
    asked = asyncio.ensure_future(desk.ask(question()))
    await asyncio.sleep(0)
    counted: list[bool] = []
    threads = [
        threading.Thread(target=lambda: counted.append(desk.answer("ask_1", "nonce_1", ALLOW)))
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    assert await asked == ALLOW
    for thread in threads:
        thread.join()
    assert counted.count(True) == 1


async def test_several_may_wait_for_one_question() -> None:
    desk = Desk()
    waiting = [asyncio.ensure_future(desk.ask(question())) for _ in range(3)]
    await asyncio.sleep(0)
    assert desk.answer("ask_1", "nonce_1", ALLOW)
    assert await asyncio.gather(*waiting) == [ALLOW, ALLOW, ALLOW]


async def test_a_cancelled_question_is_withdrawn() -> None:
    desk = Desk()
    asked = asyncio.ensure_future(desk.ask(question()))
    await asyncio.sleep(0)
    asked.cancel()
    await asyncio.wait({asked})
    assert desk.pending() == ()
    assert not desk.answer("ask_1", "nonce_1", ALLOW)


async def test_a_stop_denies_the_questions_of_its_run() -> None:
    desk = Desk()
    one = asyncio.ensure_future(desk.ask(question(1, "r1")))
    two = asyncio.ensure_future(desk.ask(question(2, "r2")))
    await asyncio.sleep(0)
    assert desk.deny_all("r1") == 1
    assert (await one).by == "stop"
    assert not two.done()
    assert desk.deny_all() == 1
    assert (await two).decision == "deny"


async def test_the_fallback_answers_and_is_ended_when_somebody_else_did() -> None:
    ended = asyncio.Event()

    async def typed(_request: PermissionRequested) -> ApprovalAnswer | None:
        return ALLOW

    async def slow(_request: PermissionRequested) -> ApprovalAnswer | None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return None

    assert await Desk(fallback=typed).ask(question()) == ALLOW
    desk = Desk(fallback=slow)
    asked = asyncio.ensure_future(desk.ask(question()))
    await asyncio.sleep(0.01)
    assert desk.answer("ask_1", "nonce_1", DENY)
    assert await asked == DENY
    assert ended.is_set()
