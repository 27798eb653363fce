"""What accelerate and DeepSpeed read from their configuration: keys, values, and what goes together."""
