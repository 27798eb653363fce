import os

import deepspeed

deepspeed.init_distributed()
local_size = int(os.environ["LOCAL_SIZE"])
