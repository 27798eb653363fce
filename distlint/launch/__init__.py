"""What a project is launched with: configuration files, scripts and notebooks, read and compared."""
