python -m pytest tests/torch.distributed.launch
