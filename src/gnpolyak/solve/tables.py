"""Every table that a user may add to, in one place.

``@gnp.tables.starts.register(MyMap, gnp.Identity)`` above a function makes `minimize` use it; the others work alike.
``print(gnp.tables.starts)`` shows the rows.
"""

from gnpolyak.problem.maps import MAPS
from gnpolyak.problem.oracles import KERNELS
from gnpolyak.problem.penalties import PENALTIES
from gnpolyak.problem.sensing import SENSING
from gnpolyak.starts import LARGER, STARTS
from gnpolyak.steps.linear import SOLVERS
from gnpolyak.steps.named import METHODS
from gnpolyak.steps.targets import STRATEGIES

maps, sensing, penalties = MAPS, SENSING, PENALTIES
kernels, starts, larger = KERNELS, STARTS, LARGER
solvers, methods, strategies = SOLVERS, METHODS, STRATEGIES
