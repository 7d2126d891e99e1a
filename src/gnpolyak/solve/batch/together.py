"""A piece of a batch: the stages, certificates and residuals of its members at once; what few need, each does alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from gnpolyak.base import foreign
from gnpolyak.base.trees import Tree
from gnpolyak.oracles import forms_jacobian
from gnpolyak.problem.capabilities import RESIDUALS
from gnpolyak.problem.composite import Composite
from gnpolyak.solve.batch import programs
from gnpolyak.solve.batch.history import rows_of
from gnpolyak.solve.batch.members import assign, part
from gnpolyak.solve.batch.rounds import Rounds, Stage
from gnpolyak.solve.batch.task import Task
from gnpolyak.solve.certificate import Certificate, told_of_each
from gnpolyak.solve.dual import LEAST, stacked
from gnpolyak.solve.finish import certified, typical_of_each
from gnpolyak.solve.outliers import corrupted_of_each, places
from gnpolyak.solve.result import History, Result, noted
from gnpolyak.solve.values import is_lost, rule_of
from gnpolyak.solve.ways import delivered, ended, named, otherwise
from gnpolyak.steps.iteration import State
from gnpolyak.steps.methods import Method
from gnpolyak.steps.status import CLAIMS, FINAL, Status
from gnpolyak.steps.targets import Target

_FINAL, _CLAIMS = ([int(status) for status in each] for each in (FINAL, CLAIMS))


@dataclass(frozen=True)
class Piece:
    """Members of one structure that are solved together."""

    given: list[Composite]
    """The problems as they were given, cast and settled."""
    solved: list[Composite]
    """Those in the variable that they are solved in."""
    x: Tree
    """The starts, stacked, in that variable."""
    like: list[Tree]
    """The starts as the user gave them."""


class Passage:
    """A stage that some members of a piece went through."""

    def __init__(
        self, asked: Method, method: Method, target: Target, stage: Stage, who: np.ndarray, count: int
    ) -> None:
        self.method, self.target, self.stage = method, target, stage
        self.label, self.rule = named(asked, method.label), rule_of(method, target)
        self.row = np.full(count, -1)
        """Each member's place in the stage, or −1."""
        self.row[who] = np.arange(len(who))
        self._leaves, self._structure = jax.tree.flatten(stage.state)

    def state(self, i: int) -> State:
        """The last state of a member."""
        row = self.row[i]
        return jax.tree.unflatten(self._structure, [leaf[row] for leaf in self._leaves])

    def rows(self, i: int) -> list[np.ndarray]:
        """The columns of its history."""
        stage, row = self.stage, self.row[i]
        return rows_of(stage.first[row], stage.began[row], stage.rows[row]) if row >= 0 else []


class Together:
    """The solve of a piece."""

    def __init__(self, task: Task, piece: Piece, rounds: Rounds) -> None:
        self.task, self.piece, self.rounds = task, piece, rounds
        self.count = len(piece.given)
        self.everyone = np.arange(self.count)
        self.forms = forms_jacobian(piece.solved[0], part(piece.x, 0))
        self.has_data, self.label = piece.solved[0].penalty.has(RESIDUALS), piece.solved[0].label

    def results(self) -> list[Result]:
        """One for each member, in order."""
        self._through()
        certificates = self._certificates()
        r = self._residuals()
        ends = zip(range(self.count), certificates, self._outliers_of_the_plain(certificates, r), strict=True)
        return [self._end(i, certificate, outliers, r) for i, certificate, outliers in ends]

    def _end(
        self, i: int, certificate: Certificate | None, outliers: np.ndarray | None, r: np.ndarray | None
    ) -> Result:
        if certificate is None or outliers is None:
            return self._conclude(i, certificate, r)
        return self._plain(i, certificate, outliers)

    def _through(self) -> None:
        """The stages, each for those that need it, from the best point so far."""
        piece, task = self.piece, self.task
        stages = task.method.stages(piece.solved[0], task.rule, self.forms)
        self.x, self.value = jax.tree.map(np.array, piece.x), np.full(self.count, np.inf)
        self.status, self.calls = np.zeros(self.count, np.int32), np.zeros(self.count, np.int32)
        self.passages: list[Passage] = []
        self.last, self.best = np.zeros(self.count, int), np.zeros(self.count, int)
        gap, who = None, self.everyone
        for method, target in stages:
            own = None if gap is None else gap[who]
            stage = self.rounds.stage(method, target, part(self.x, who), self.calls[who], task.limits.calls, own, who)
            if gap is None:
                gap = stage.state.first_gap.copy()
                self._prove(stage.first)
            self._keep(Passage(task.method, method, target, stage, who, self.count), who)
            who = who[~self._are_final(who, stage, target)]
            if not len(who):
                break

    def _prove(self, first: np.ndarray) -> None:
        """How far above the lower bound each member's value is its own certificate: as `proves` tells of one."""
        rule = self.task.rule
        self.bound, tol = float(rule.stated()), float(rule.tol)
        self.b: np.ndarray | None = None
        if not self.has_data:
            self.allowed = tol * (first - self.bound)
            return
        b = self.rounds.all_of(self.everyone, lambda m, at: programs.all_data(m, part(self.piece.x, at)), "data")
        self.b = data = self._counted(b)
        self.allowed = tol * data.shape[1] * typical_of_each(data)

    def _keep(self, passage: Passage, who: np.ndarray) -> None:
        """Note how a stage ended for its members; a best point that was lost in it is the best one still."""
        state, number = passage.stage.state, len(self.passages)
        lost = is_lost(state.best.value, self.value[who], self.task.dtype) if number else np.zeros(len(who), bool)
        self.passages.append(passage)
        self.status[who], self.calls[who], self.last[who] = state.status, state.calls, number
        assign(self.x, who[~lost], part(state.best.x, ~lost))
        self.value[who[~lost]], self.best[who[~lost]] = state.best.value[~lost], number

    def _are_final(self, who: np.ndarray, stage: Stage, target: Target) -> np.ndarray:
        """Which members no further stage is to go on from."""
        value, status = stage.state.best.value, stage.state.status
        proved = value - self.bound <= self.allowed[who]
        wrong = (status == Status.TARGET_REACHED) & (not target.exact) & ~proved
        return (np.isin(status, _FINAL) & ~wrong) | ~np.isfinite(value)

    def _certificates(self) -> list[Certificate | None]:
        """What is said of those whose ends need a dual vector, where that is found by products alone."""
        rule, problem, lane = self.task.rule, self.piece.solved[0], self.rounds.lane
        told: list[Certificate | None] = [None] * self.count
        self.r: np.ndarray | None = None
        by_products = self.has_data and problem.box is None and not self.forms
        who = np.flatnonzero(self._need_certificates()) if by_products and not rule.exact else np.zeros(0, int)
        if not len(who) or self.task.stops() is Status.INTERRUPTED:
            return told
        budget = (self.task.limits.calls - self.calls[who]).astype(np.int32)
        x, tol, began = part(self.x, who), float(rule.tol), lane.clock.seconds
        found = self.rounds.all_of(
            who, lambda m, at: programs.certificates(m, part(x, at), tol, budget[at]), "certificates"
        )
        # As much of the time as each would be charged with alone, were the work shared evenly.
        dual = stacked(found, self._counted)
        each = told_of_each(dual, (lane.clock.seconds - began) / len(who))
        for i, certificate in zip(who, each, strict=True):
            told[i] = certificate
        self.r = dual.r if len(who) == self.count else None
        return told

    def _need_certificates(self) -> np.ndarray:
        room = self.task.limits.calls - self.calls > LEAST
        proved = self.value - self.bound <= self.allowed
        return np.isin(self.status, _CLAIMS) & room & np.isfinite(self.value) & ~proved

    def _residuals(self) -> np.ndarray | None:
        """Those of all members, where they have any."""
        if self.b is None or self.r is not None:
            return self.r
        r: np.ndarray = self.rounds.all_of(
            self.everyone, lambda m, at: programs.residuals(m, part(self.x, at)), "residuals"
        )
        return self._counted(r)

    def _counted(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors of measurements, one in each row, without the places that stand for none."""
        layout = self.piece.solved[0].sensing.spread
        return vectors if layout is None else layout.of_each(vectors)

    def _outliers_of_the_plain(
        self, certificates: Sequence[Certificate | None], r: np.ndarray | None
    ) -> list[np.ndarray | None]:
        """The outliers of members of which no more is to be said: certified, with good and bad data apart."""
        task, piece = self.task, self.piece
        problem, after = piece.solved[0], (task.rule, self.forms, Status.CERTIFIED)
        if r is None or self.b is None or task.polish or task.method.fallback(problem, *after):
            return [None] * self.count
        found = corrupted_of_each(r, self.b)
        holds = [certificate is not None and certificate.holds for certificate in certificates]
        return [each if held else None for each, held in zip(found, holds, strict=True)]

    def _plain(self, i: int, certificate: Certificate, outliers: np.ndarray) -> Result:
        """What `_conclude` comes to for such a member, without asking for what is known."""
        passage, lane = self.passages[self.last[i]], self.rounds.lane
        value, seconds = float(self.value[i]), lane.clock.seconds
        sensing = self.piece.solved[i].sensing
        x = self.task.to_user(sensing.back(part(self.x, i)))
        return Result(
            x=foreign.like(self.piece.like[i], x),
            value=value,
            status=Status.CERTIFIED,
            calls=int(self.calls[i]) + certificate.products,
            seconds=seconds,
            bound=value,
            history=History.of(noted(self._rows(i), certificate.products, seconds)),
            problem=self.label,
            method=passage.label,
            rule=passage.rule,
            measurements=certificate.measurements,
            outliers=places(self.piece.given[i], outliers),
            certificate=certificate,
            state=self._state(i),
        )

    def _conclude(self, i: int, certificate: Certificate | None, r: np.ndarray | None) -> Result:
        piece, task, passage = self.piece, self.task, self.passages[self.last[i]]
        bound, allowed = self.bound, float(self.allowed[i])
        run = task.run(
            piece.given[i],
            piece.solved[i],
            part(piece.x, i),
            proves=lambda value, first: value - bound <= allowed,
            method=passage.method,
            rows=self._rows(i),
            calls=int(self.calls[i]),
        )
        res = run.result(passage.method, passage.target, self._state(i), Status(int(self.status[i])))
        seen = None if r is None or self.b is None else (res.x, r[i], self.b[i])
        res = certified(run, task.rule, res, found=certificate)
        res = otherwise(run, task.method, task.rule, part(piece.x, i), res)
        res = ended(run, task.method, task.rule, res, task.polish, seen)
        return delivered(res, task.method, piece.like[i])

    def _rows(self, i: int) -> list[np.ndarray]:
        return [row for each in self.passages for row in each.rows(i)]

    def _state(self, i: int) -> State:
        """The last state of a member, with its best point so far."""
        state = self.passages[self.last[i]].state(i)
        if self.best[i] == self.last[i]:
            return state
        return state._replace(best=self.passages[self.best[i]].state(i).best)
