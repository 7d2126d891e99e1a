"""What a wheel must do where nothing but its dependencies is installed: load its kernel, use it, and solve."""

import gnpolyak as gnp

state = gnp.native.status()
assert state.available, state.reason
case = gnp.instances.tensor_sensing(d=20, r=2, kappa=10.0, p_fail=0.2)
res = gnp.minimize(case.problem, rank=2)
assert res.success, res
assert case.recovery_error(res.x) < 1e-8
print(f"gnpolyak {gnp.__version__} with {state.instruction_set}, installed in {gnp.__path__[0]}")
