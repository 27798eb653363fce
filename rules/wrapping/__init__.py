"""Models inside DDP, FSDP, DeepSpeed and torch.compile (DL2xx)."""
