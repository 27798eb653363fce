"""`distlint verify`: the runtime's contracts and the rules' proofs, run on this machine's devices.

`sessions` says which process groups this machine can form; `contract_runs` runs the contracts in
each, `rank_main` being what a rank does; `proof_runs` runs the proofs; `machine` says what the
machine is, `record` and `table` how the outcome is kept and shown.
"""
