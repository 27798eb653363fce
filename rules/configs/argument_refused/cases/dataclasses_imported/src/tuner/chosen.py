from dataclasses import dataclass
from typing import Literal


@dataclass
class Model:
    attention: Literal["eager", "sdpa"] = "eager"
