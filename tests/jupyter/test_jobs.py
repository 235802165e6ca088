"""The main thread's jobs, without a kernel."""

from __future__ import annotations

import concurrent.futures
import signal
import threading
import time
from collections.abc import Callable
from functools import partial

import pytest

from agent_kernel.jupyter.jobs import JobInterrupted, JobQueue


def in_background(function: Callable[[], object]) -> None:
    threading.Thread(target=function, daemon=True).start()


def test_jobs_run_in_order_on_the_serving_thread() -> None:
    jobs = JobQueue()
    futures: list[concurrent.futures.Future[tuple[int, bool]]] = []
    here = threading.get_ident()

    def put() -> None:
        while not jobs.is_open:
            time.sleep(0.001)
        futures.extend(
            jobs.put(partial(lambda n: (n, threading.get_ident() == here), number))
            for number in range(3)
        )
        futures[-1].result(5)
        jobs.wake()

    in_background(put)
    assert jobs.serve(lambda: len(futures) == 3 and futures[-1].done(), limit=10)
    assert [future.result() for future in futures] == [(0, True), (1, True), (2, True)]


def test_a_job_nobody_serves_is_refused_and_one_to_keep_waits() -> None:
    jobs = JobQueue()
    assert jobs.put(lambda: 1).cancelled()
    kept = jobs.put(lambda: 2, keep=True)
    assert not kept.done()
    jobs.run_waiting()
    assert kept.result(0) == 2


def test_a_kept_job_outlives_a_cell_that_ended_before_its_turn() -> None:
    jobs = JobQueue()
    kept = jobs.put(lambda: 3, keep=True)
    jobs.serve(lambda: True)
    assert not kept.done()
    jobs.serve(kept.done, limit=5)
    assert kept.result(0) == 3


def test_an_error_is_the_jobs_own() -> None:
    jobs = JobQueue()
    kept = jobs.put(lambda: 1 // 0, keep=True)
    jobs.run_waiting()
    assert isinstance(kept.exception(0), ZeroDivisionError)


def test_an_interrupt_while_it_waits_ends_serving() -> None:
    jobs = JobQueue()
    timer = threading.Timer(0.1, lambda: signal.pthread_kill(_main(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        jobs.serve(lambda: False, limit=10)
    timer.join()


def test_an_interrupt_of_a_job_is_known_before_its_result() -> None:
    seen: list[str] = []
    jobs = JobQueue(on_interrupt=lambda: seen.append("stop"))
    job = jobs.put(lambda: time.sleep(30), keep=True)
    job.add_done_callback(lambda _: seen.append("result"))
    timer = threading.Timer(0.2, lambda: signal.pthread_kill(_main(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        jobs.serve(lambda: False, limit=10)
    timer.join()
    assert isinstance(job.exception(0), JobInterrupted)
    assert seen == ["stop", "result"]


def test_an_interrupt_we_sent_is_not_taken_for_the_persons() -> None:
    seen: list[str] = []
    jobs = JobQueue(on_interrupt=lambda: seen.append("stop"))
    job = jobs.put(lambda: time.sleep(30), keep=True)
    timer = threading.Timer(0.2, jobs.interrupt_current)
    timer.start()
    assert jobs.serve(job.done, limit=10)
    timer.join()
    assert isinstance(job.exception(0), JobInterrupted)
    assert seen == []


def test_code_of_a_job_is_told_from_code_of_a_person() -> None:
    jobs = JobQueue()
    inside = jobs.put(lambda: jobs.runs_here, keep=True)
    assert not jobs.runs_here
    jobs.run_waiting()
    assert inside.result(0)


def _main() -> int:
    return threading.main_thread().ident or 0
