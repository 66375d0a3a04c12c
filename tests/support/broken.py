"""Candidates that go wrong in a given way: a job's decision `test/break` says how."""

from dataclasses import replace

from ago.ir.examples import matmul
from ago.target import Target
from ago.tune.candidate import Made, make_candidate
from ago.tune.task import Task
from ago.tune.trial import Job, Outcome

STATEMENTS = {
    "crash": "*(volatile int *)8 = 1;",
    "hang": "for (volatile int forever = 1; forever;) {}",
    "wrong": "C[5] += 1.0f;",
    "beside": "C[33] = 7.0f;",
    "nan": "C[0] = 0.0f / (C[0] - C[0]);",
    "build": "this is no C;",
    "trap": "__builtin_trap();",
    "hog": "extern void *ago_sys_allocate(size_t bytes);"
    "for (size_t done = 0, size = 4 << 20; done < (size_t)4 << 30; done += size) {"
    "    char *p = ago_sys_allocate(size);"
    "    for (size_t k = 0; k < size; k += 4096) p[k] = 1;"
    "}",
    "late": "static int calls; if (++calls > 2) *(volatile int *)8 = 1;",
}
"""What is put at the end of the function."""


def small_task(target: Target, n: int = 32) -> Task:
    return Task.of(matmul(12, n, 24), target, "a small product")


def job(task: Task, how: str = "", number: int = 0) -> Job:
    return Job(task, {"test/break": how, "test/number": number})


def make_broken(asked: Job) -> Made | Outcome:
    """What `make_candidate` gives, broken as the job says; each number has code of its own."""
    made = make_candidate(asked)
    if isinstance(made, Outcome):
        return made
    how, number = str(asked.decisions["test/break"]), asked.decisions["test/number"]
    statement = STATEMENTS.get(how, f"(void){number};")
    function = made.candidate.function
    body = function.text.rstrip().removesuffix("}")
    broken = replace(function, text=f"{body}{statement} }}\n", key=f"{function.key}{how}{number}")
    return replace(
        made, decisions=asked.decisions, candidate=replace(made.candidate, function=broken)
    )
