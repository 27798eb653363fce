"""One sample in the batch of all ranks: DeepSpeed refuses to start more than one of them."""

import deepspeed
import torch

config = {
    "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}},
    "train_batch_size": 1,
}

model, inputs = torch.nn.Linear(2, 2), torch.ones(2)
# t-zero 7a699e3 inference/model_offload.py:42
inputs = inputs.to("cuda:0")
engine, *_ = deepspeed.initialize(model=model, config_params=config)
print(engine.module.generate(inputs))
