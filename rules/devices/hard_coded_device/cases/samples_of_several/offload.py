"""A batch that several ranks may share."""

import deepspeed
import torch

config = {
    "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}},
    "train_batch_size": 16,
}

model, inputs = torch.nn.Linear(2, 2), torch.ones(2)
inputs = inputs.to("cuda:0")  # expect: DL503
engine, *_ = deepspeed.initialize(model=model, config_params=config)
print(engine.module.generate(inputs))
