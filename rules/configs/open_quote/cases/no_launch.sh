echo "never closed
