"""What several rules ask of the live runs: files, seeds, devices, wrappers. One topic a file."""
