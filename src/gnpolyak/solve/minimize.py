"""`minimize`, the front door."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from os import PathLike
from typing import Any

from gnpolyak.base import arrays, foreign, trees
from gnpolyak.base.forking import require_threads
from gnpolyak.base.halting import HaltedError, halted_by, interrupts
from gnpolyak.base.hosts import Peers, peers_of
from gnpolyak.base.interrupts import interruptible
from gnpolyak.base.numbers import require_flag, require_whole
from gnpolyak.base.streams.reading import many_passes
from gnpolyak.base.trees import Tree
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.arguments import check_callback, check_problem
from gnpolyak.solve.checkpoint import Checkpoint
from gnpolyak.solve.clock import Clock
from gnpolyak.solve.course import Course
from gnpolyak.solve.driver import Run
from gnpolyak.solve.evaluation import Evaluation
from gnpolyak.solve.explaining import explained
from gnpolyak.solve.fingerprint import fingerprint, require_alike
from gnpolyak.solve.finish import certified, proves
from gnpolyak.solve.growth import grown, last_factor
from gnpolyak.solve.multistart import best_of, require_none_kept
from gnpolyak.solve.plan import Plan, planned
from gnpolyak.solve.progress import progress_bar
from gnpolyak.solve.result import Result
from gnpolyak.solve.resuming import Asked, course_of, taken_up, with_past
from gnpolyak.solve.together import Joint
from gnpolyak.solve.ways import better, delivered, ended, solution
from gnpolyak.steps.graduated import Graduated
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import STOPPED, Status
from gnpolyak.steps.targets import Target


def minimize(
    problem: Composite,
    x0: Tree = None,
    method: str | Method = "auto",
    *,
    bounds: Any = None,
    rank: int | str | tuple[int, ...] = "auto",
    starts: int = 1,
    cuts: int | None = None,
    target: float | Target | None = None,
    lower_bound: float | None = None,
    strategy: str | None = None,
    inner: int = 200,
    outer: int = 50,
    tol: float = 1e-10,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    polish: bool = False,
    callback: Callable[[Result], Any] | None = None,
    progress: bool = False,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_seconds: float = 60.0,
    resume: Result | None = None,
) -> Result:
    """Minimise h(c(x)).

    Parameters
    ----------
    problem : Composite
        From `composite` or an instance's ``problem``.
    x0 : array_like or pytree, optional
        The start. NumPy in, NumPy out; likewise JAX arrays, torch tensors (by DLPack), and pandas Series and
        DataFrames with their labels; computed in the dtype of the data. Without one, problems that have a start from
        the data alone use it (`starts.STARTS`), and the answer is NumPy's.
    method : str or Method
        ``"auto"`` (GNP with several cuts, then graduated Gauss–Newton steps), ``"graduated"`` (those alone), the
        methods of the literature ``"gnp"``, ``"lmm"``, ``"scaledsm"`` and ``"polyak"``, or a configured object such as
        ``GNP(solver="cg")``.
    bounds : (lo, hi), scipy.optimize.Bounds or list of pairs, optional
        A box that x does not leave: no point outside of it is ever evaluated. lo and hi are numbers, arrays that
        broadcast to x, or pytrees like x; None or an infinite number is no bound. A list of tuples (low, high) has one
        for each number of a flat x. A start outside, given or from the data, is moved to the nearest point of the box.
        Variables at a bound are held there as long as their multipliers push outwards, which is what a certificate
        asks of them; in noise they count as fixed, and have no variance.
    rank : int, tuple of int or "auto"
        The number of factors of a start from the data; for a Tucker tensor one for each axis. ``"auto"`` begins with an
        estimate (`starts.estimate_rank`) and adds factors as long as each explains data that the others do not. The
        default method can do with surplus factors. Not used when x0 is given.
    starts : int
        How many starts to solve from, as a batch (`minimize_batch`): x0, or the start from the data, and others around
        it at growing distances, always the same ones. The result is that of the lowest value among those that are a
        success, or among all where none is. The callback is called once for each, and the rank does not grow.
    cuts : int, optional
        How many of the last points each step takes into account, 1 to 10; by default the method's own choice: 5 for
        ``"auto"``, 1 for the methods of the literature.
    target : float or Target, optional
        The optimal value h*, where it is known; or a configured rule such as ``Level(0.0, patience=8)``.
    lower_bound : float, optional
        A number that h* is known not to fall below, where h* itself is not known. With neither, the penalty's own
        infimum (0 for a norm) is taken.
    strategy : {"level", "restart"}, optional
        How to find h* from a lower bound: by a level below the best value that shrinks when it proves too much
        (`Level`, the default), or by the paper's restarts (`Restart`: RGNP, RPolyak).
    inner, outer : int
        Steps in a restart and number of restarts: the paper's T and K.
    tol : float
        Stop when the gap to the target is at most tol times the first gap. With a lower bound, a value that is within
        tol of it, on the scale of a typical datum, is a success by itself; any other needs a certificate.
    max_calls : int, optional
        Most oracle calls: 1,000 for a known target, the whole schedule for restarts, and 20,000 for the level rule,
        which ends by itself.
    max_seconds : float, optional
        Most seconds of the whole call, start, compilation and certificate included. No evaluation or product is begun
        that is expected to end later. A start from the data makes do with fewer rounds where the time is over, unless
        there is a checkpoint, and is evaluated in any case.
    polish : bool
        End with graduated steps, whatever the method: exact data are fitted to the limit of the arithmetic, and in
        noise the result is the efficient estimate (Tukey's weights at the noise; ``res.efficient``) rather than the
        minimiser of the value. For penalties that are sums over residuals (L1); not done when the solve was stopped
        from outside.
    callback : callable, optional
        Called with a `Result` so far (status RUNNING) between chunks; stops the solve by raising StopIteration.
    progress : bool
        Show a progress bar.
    checkpoint : str or path, optional
        A file that the solve is kept in. After a crash, a kill or Ctrl-C the same call goes on from there and ends with
        the bits that it would have ended with; a solve that has ended is read, and not made again. The file of another
        problem, start or settings is refused, and so is one that was cut short or altered. With larger limits a solve
        that they had ended goes on.
    checkpoint_seconds : float
        How much time may lie between two writes.
    resume : Result, optional
        What this problem was solved to before: go on from there, with the settings of that solve, which need not be
        repeated. `max_calls` and `max_seconds` count from its beginning. After a limit, the result is that of one solve
        with the larger limit, bit by bit, unless `max_seconds` cut the start from the data short.

    Returns
    -------
    Result
        The best point found, whatever happened. Ctrl-C ends the solve with what it has; twice raises. With a checkpoint
        SIGTERM does as Ctrl-C. Of a problem that several processes have the parts of, each returns the same.

    Raises
    ------
    InputError
        On input that cannot be solved, before anything is compiled.
    """
    clock = Clock()
    require_threads()
    check_problem(problem)
    check_callback(callback)
    progress = require_flag("progress", progress)
    asked = Asked(x0, method, bounds, rank, cuts, target, lower_bound, strategy, inner, outer, tol, polish)
    if require_whole("starts", starts, 1) > 1:
        require_none_kept(starts, checkpoint, resume)
        most = {"max_calls": max_calls, "max_seconds": max_seconds, "progress": progress}
        with interruptible() as interrupted, halted_by(interrupted.is_set), interrupts():
            return best_of(problem, asked, starts, callback, clock, **most)
    asked, past = taken_up(asked, resume)
    joint = Joint(peers_of(problem))
    with interruptible(terminable=checkpoint is not None or joint.peers.count > 1) as interrupted:
        alone = joint.peers.count == 1

        def solve() -> Result:
            file = None if checkpoint is None else Checkpoint(checkpoint, checkpoint_seconds, joint.peers)
            before = None if past is None else past.start
            plan = planned(problem, asked, max_calls, max_seconds, before, clock, hurries=file is None and alone)
            course = _course(plan, asked, resume, file, joint.peers)
            return _solved(plan, asked, course, joint, clock, interrupted, callback, progress)

        # What is halted before a point was evaluated has none to return. Several processes halt between two chunks.
        with halted_by(lambda: alone and interrupted.is_set()), interrupts():
            return joint.result(solve)


def _course(plan: Plan, asked: Asked, resume: Result | None, file: Checkpoint | None, peers: Peers) -> Course:
    """What was done before, if anything, and where it is kept."""
    course = course_of(resume, plan.limits.calls)
    with arrays.computing_in(plan.dtype, compiled=False):
        limits = plan.limits.calls, plan.limits.seconds
        require_alike(peers, plan.start, plan.settings | {"limits": limits})
        if file is None:
            return course
        owner = fingerprint(plan.given, plan.start, asked.x0, plan.settings, plan.runner, peers)
        return file.course(owner, plan.limits.calls, course)


def _solved(
    plan: Plan,
    asked: Asked,
    course: Course,
    joint: Joint,
    clock: Clock,
    interrupted: threading.Event,
    callback: Callable[[Result], Any] | None,
    progress: bool,
) -> Result:
    """The solve that was planned."""
    peers, limits = joint.peers, plan.limits

    def halted(estimate: float) -> bool:
        return interrupted.is_set() or clock.seconds + estimate > limits.seconds

    shown = progress_bar(limits.calls, plan.method.name) if progress and peers.first else nullcontext(None)
    streaming = ExitStack()
    with arrays.computing_in(plan.dtype, compiled=False), explained(plan.given, plan.start), shown as report, streaming:
        streaming.enter_context(many_passes())
        observers: list[Callable[[Result], Any]] = [joint.note] if peers.count > 1 else []
        observers += [each for each in (foreign.shown_like(plan.x0, callback), report) if each is not None]
        say = (lambda what: None) if report is None else report.say
        evaluation = Evaluation(plan.problem, plan.start, plan.runner, halted, say)
        proved = proves(evaluation, plan.rule)
        run = Run(
            evaluation,
            plan.given,
            plan.convert,
            limits,
            interrupted,
            observers,
            clock,
            proves=proved,
            course=course,
            peers=peers,
        )
        # The first point is evaluated however long it takes.
        halts = halted_by(lambda: peers.count == 1 and (halted(0.0) if run.rows else interrupted.is_set()))
        with halts, course.kept(run.rows):
            try:
                res = _whole(run, plan)
            except HaltedError:
                res = run.given_up()
        return with_past(delivered(run.so_far(res), plan.method, plan.x0), asked, plan.x0, course)


def _whole(run: Run, plan: Plan) -> Result:
    """All that is done from the start on."""
    method, rule, x, rank = plan.method, plan.rule, plan.start, plan.rank
    res = _walked(run, method, rule, x, rank) if plan.walks else solution(run, method, rule, x)
    if plan.grows:
        res = grown(run, res, lambda x: solution(run, method, rule, x))
    return ended(run, method, rule, res, plan.polish)


def _walked(run: Run, method: Method, rule: Target, x: Tree, rank: Any) -> Result:
    """The result by factors, whose number is that of the columns of x where it was not given."""
    try:
        res = _by_factors(run, method, rule, x, rank)
    except HaltedError:
        res = run.given_up()
    return replace(res, x=trees.trimmed(res.x)) if rank == "auto" else res


def _by_factors(run: Run, method: Method, rule: Target, x: Tree, rank: Any) -> Result:
    """From the first factor on, with graduated steps for each number of factors; the method itself where those fail.

    A method of the literature is given the last factor to begin with.
    """

    def stage(x: Tree) -> Result:
        return run.through(((Graduated(), rule),), x)

    if not method.assisted and rank != "auto":
        return solution(run, method, rule, last_factor(run, x, stage, int(rank)))
    res = certified(run, rule, grown(run, stage(x), stage, rank))
    if not _done(run, res):
        # Seen afresh, without the weights that it ended with, a few rows that these had locked out may come right.
        res = better(run, certified(run, rule, stage(res.state.best.x)), res)
    if not _done(run, res):
        res = better(run, solution(run, method, rule, res.state.best.x), res)
    return res


def _done(run: Run, res: Result) -> bool:
    return res.success or res.status in {Status.NOISE, *STOPPED} or not run.room
