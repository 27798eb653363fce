from torch import nn
from transformers import AutoModel


class Reader(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.inner = AutoModel.from_pretrained(name, attn_implementation="flash_attention_2")
