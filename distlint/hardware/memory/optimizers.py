"""What optimizers keep for a parameter, besides the parameter."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Optimizer:
    """One optimizer.

    Attributes:
        key: its name on the command line.
        states: values for each parameter, of the parameter's type.
        fixed_bytes: bytes for each parameter that do not depend on its type.
        exact: compared with real bytes in tests/hardware/test_plan_bytes.py.
        source: where the row was read, with the version.
    """

    key: str
    states: int
    fixed_bytes: float
    exact: bool
    source: str

    def per_parameter(self, element_bytes: int) -> float:
        """Bytes for each parameter of a type of so many bytes."""
        return self.states * element_bytes + self.fixed_bytes


# 8-bit states have a scale of fp32 for 256 values each; tensors under 4,096 elements stay fp32,
# which is less than a thousandth of a model.
_BLOCKWISE = 1 + 4 / 256

OPTIMIZERS = {
    optimizer.key: optimizer
    for optimizer in (
        Optimizer("adam", 2, 0, True, "torch 2.13.0 optim/adam.py: exp_avg, exp_avg_sq; AdamW too"),
        Optimizer(
            "adam8bit",
            0,
            2 * _BLOCKWISE,
            False,
            "bitsandbytes 0.45 optim/optimizer.py Optimizer2State: two states, blocks of 256",
        ),
        Optimizer("lion", 1, 0, False, "lion-pytorch 0.2: exp_avg"),
        Optimizer("lion8bit", 0, _BLOCKWISE, False, "bitsandbytes 0.45 optim/lion.py: one state"),
        Optimizer("sgd", 0, 0, True, "torch 2.13.0 optim/sgd.py: nothing without momentum"),
        Optimizer("momentum", 1, 0, True, "torch 2.13.0 optim/sgd.py: momentum_buffer"),
        Optimizer(
            "adafactor",
            0,
            0.01,
            False,
            "torch 2.13.0 optim/_adafactor.py: a row and a column of fp32 for a matrix; under 1 % "
            "of a byte for matrices of 800 and wider",
        ),
    )
}
ADAM = OPTIMIZERS["adam"]
