from .build import make
from .loops.exporting import Exporting
