from gnpolyak.diagnostics.spectrum import *
from gnpolyak.diagnostics.rank import *
from gnpolyak.diagnostics.sharpness import *
from gnpolyak.diagnostics.theory import *
from gnpolyak.diagnostics.checks import *
