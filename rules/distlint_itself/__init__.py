"""What distlint says about its own work: files, suppressions and settings (DL9xx)."""
