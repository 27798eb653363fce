# Uni-Perceiver a8c9e37 uniperceiver/engine/defaults.py:27: whoever imports `make` has the package read the loops, which lie
# in a folder without `__init__.py`
from engine import make

if __name__ == "__main__":
    make("config.py").train()
