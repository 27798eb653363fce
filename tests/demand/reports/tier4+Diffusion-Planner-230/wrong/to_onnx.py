import sys

import torch

from planner import Diffusion_Planner
from utils import load_model

model = load_model(sys.argv[1], Diffusion_Planner()).eval()
torch.onnx.export(model, model.example_inputs(), "planner.onnx")
