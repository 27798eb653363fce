from dataclasses import dataclass, field


@dataclass
class Settings:
    device: int = field(default=0, metadata={"help": "GPU", "alias": "--local_rank"})  # expect: DL805
    note: str = field(default="", metadata={"help": "as in --local_rank"})
