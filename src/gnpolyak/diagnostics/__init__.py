from gnpolyak.diagnostics.spectrum import *
