import torch

host = torch.device("cpu")
gpu = torch.device(f"cuda:{torch.cuda.current_device()}")  # expect: DL503
