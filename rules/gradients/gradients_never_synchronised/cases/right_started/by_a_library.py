"""transformers makes the group with the arguments."""

import torch
import transformers
from training import Loop

arguments = transformers.TrainingArguments("out")
Loop(torch.nn.Linear(8, 1)).run(torch.rand(10, 4, 8))
