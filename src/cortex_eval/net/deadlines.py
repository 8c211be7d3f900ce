"""One time limit for many calls, by one timer: an `asyncio.timeout` each is a twentieth of what a call takes."""

from __future__ import annotations

import asyncio


class Deadline:
    """The time limit of one call that is under way."""

    __slots__ = ("at", "cancelling", "is_ours", "task")

    def __init__(self, task: asyncio.Task[object], at: float) -> None:
        self.task, self.at, self.cancelling = task, at, task.cancelling()
        self.is_ours: bool | None = None
        """Whether the call was cancelled because of it, and by nobody else as well; None: not known yet."""


class Deadlines:
    """Cancels calls that take longer than `after_s`. Everything happens on one event loop."""

    def __init__(self, after_s: float) -> None:
        self.after_s = after_s
        self._open: dict[Deadline, None] = {}
        """In the order of their ends: all take the same time."""
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> Deadline:
        """The time of the task's call begins; `end` must follow."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "a call is made by a task"
        deadline = Deadline(task, loop.time() + self.after_s)
        self._open[deadline] = None
        if self._timer is None:
            self._timer = loop.call_at(deadline.at, self._look, loop)
        return deadline

    def end(self, deadline: Deadline) -> bool:
        """The call has ended; whether it was cancelled for its time, and by nobody else. That is then taken back."""
        if deadline.is_ours is None:
            is_over = self._open.pop(deadline, deadline) is deadline
            deadline.is_ours = is_over and deadline.task.uncancel() <= deadline.cancelling
        return deadline.is_ours

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel what took too long, and look again when the next one would have."""
        self._timer = None
        for deadline in list(self._open):
            if deadline.at > loop.time():
                self._timer = loop.call_at(deadline.at, self._look, loop)
                return
            del self._open[deadline]
            deadline.task.cancel()
